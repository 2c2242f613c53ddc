// The receipt as a PDF for people, with the signed receipt attached.

package service

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"

	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/pdf"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/receipt"
)

const embeddedReceipt = 4 << 20 // bytes of the longest receipt that its PDF carries

// ReceiptPDF returns a receipt as a document for people, with the file receipt.consign in it. It names the objects of the statement's
// first part, and the answers to the mailbox's form as long as they are stored.
func (s *Service) ReceiptPDF(ctx context.Context, f ReceiptFile, p i18n.Printer) ([]byte, error) {
	stated, err := transfer.ParseStatement(f.Statement())
	if err != nil {
		return nil, err
	}
	answers, err := s.printedAnswers(ctx, f, stated)
	if err != nil {
		return nil, err
	}
	file := shortBuffer{limit: embeddedReceipt}
	switch err := s.WriteReceipt(ctx, &file, f); {
	case errors.Is(err, errLongReceipt):
		file.Reset()
	case err != nil:
		return nil, err
	}
	return s.documents.Render(ctx, receipt.Document(p, receipt.Receipt{
		Stated: stated, Proof: f.Proof(), Answers: answers, File: file.Bytes(), Verify: s.hosts.URL(stated.Get("host"), "/verify"),
		Brand: s.brand(ctx, stated.Get("host")), Checked: f.stored.SenderCheckedAt,
	}))
}

// brand returns the look of the organization at a host, that of the product when it cannot be read.
func (s *Service) brand(ctx context.Context, host string) pdf.Brand {
	b, err := s.look(ctx, host)
	if err != nil {
		s.log.WarnContext(ctx, "reading the look of a receipt failed", slog.String("host", host), slog.Any("error", err))
	}
	return b
}

// printedAnswers returns the answers whose hash is in the receipt.
func (s *Service) printedAnswers(ctx context.Context, f ReceiptFile, stated transfer.Statement) ([]transfer.Answer, error) {
	if stated.Get("answers") == "" {
		return nil, nil
	}
	t, err := s.store.Answered(ctx, f.Transfer())
	if err != nil || hex.EncodeToString(transfer.AnswersHash(t.Fields)) != stated.Get("answers") { // erased
		return nil, err
	}
	err = s.addAnswers(ctx, &t)
	return t.Answers, err
}
