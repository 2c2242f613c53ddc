// The receipt as a PDF for people, with the signed receipt attached.

package service

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/pdf"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/transfer"
)

const (
	embeddedReceipt = 4 << 20 // bytes of the longest receipt that its PDF carries
	printedPersons  = 40      // recipients that the PDF names
)

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
	d := receiptDocument{Printer: p, stated: stated, legible: s.documents.Legible(p.Locale()), proof: f.Proof()}
	return s.documents.Render(ctx, d.document(answers, s.hosts.URL(stated.Get("host"), "/verify"), file.Bytes()))
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

// receiptDocument makes the PDF document of a statement.
type receiptDocument struct {
	i18n.Printer
	stated  transfer.Statement
	legible func(string) string
	proof   proof.Proof
}

func (d receiptDocument) document(answers []transfer.Answer, verify string, file []byte) pdf.Document {
	at := d.moment("confirmed")
	if at.IsZero() {
		at = d.moment("at")
	}
	doc := pdf.Document{
		Locale: d.Locale(), Title: d.T("Signed receipt"), DateLine: d.Time(at, "UTC"), Date: at, Author: d.stated.Get("host"),
		Footer: d.stated.Get("host") + " · " + d.stated.Get("transfer"),
	}
	if d.stated.Receipt() {
		doc.Parties, doc.Preamble = d.parties(), d.facts()
		doc.Sections = append(doc.Sections, d.answers(answers)...)
		doc.Sections = append(doc.Sections, d.files())
	} else {
		doc.Preamble = d.lines()
	}
	doc.Sections = append(doc.Sections, d.checking(verify, len(file) > 0))
	if len(file) > 0 {
		doc.Attachments = []pdf.Attachment{{Name: proof.FileName, Description: doc.Title, Content: file}}
	}
	return doc
}

// moment returns the time in a line of the statement.
func (d receiptDocument) moment(name string) time.Time {
	at, err := time.Parse(time.RFC3339, d.stated.Get(name))
	if err != nil {
		return time.Time{}
	}
	return at
}

func (d receiptDocument) parties() []pdf.Party {
	from := pdf.Party{Role: d.T("From")}
	for _, name := range []string{"sender-name", "sender-email"} {
		if value := d.stated.Get(name); value != "" {
			from.Lines = append(from.Lines, d.legible(value))
		}
	}
	if d.stated.Get("sender-checked") != "yes" {
		from.Lines = append(from.Lines, d.T("address not checked"))
	}
	to := pdf.Party{Role: d.T("To")}
	more := 0
	for _, l := range d.stated.Lines {
		if l.Name != "recipient" {
			continue
		}
		if len(to.Lines) == printedPersons {
			more++
			continue
		}
		_, person, _ := strings.Cut(l.Value, " ") // without to or cc
		address, name, _ := strings.Cut(person, " ")
		to.Lines = append(to.Lines, d.legible(strings.TrimPrefix(name+", "+address, ", ")))
	}
	hidden, _ := strconv.Atoi(d.stated.Get("bcc"))
	if more+hidden > 0 {
		to.Lines = append(to.Lines, "+ "+strconv.Itoa(more+hidden))
	}
	if len(to.Lines) == 0 {
		return []pdf.Party{from}
	}
	return []pdf.Party{from, to}
}

func (d receiptDocument) facts() []pdf.Block {
	var blocks []pdf.Block
	add := func(label, value string) {
		if value != "" {
			blocks = append(blocks, pdf.Block{Text: label + ": " + value})
		}
	}
	add(d.T("Subject"), d.legible(d.stated.Get("subject")))
	add(d.T("Delivered"), d.Time(d.moment("confirmed"), "UTC"))
	add(d.T("Available until"), d.Time(d.moment("expires"), "UTC"))
	count, size, _ := strings.Cut(d.stated.Get("objects"), " ")
	n, _ := strconv.Atoi(count)
	total, _ := strconv.ParseInt(size, 10, 64)
	add(d.T("Content"), d.N("%d file, %s", "%d files, %s", n, d.Bytes(total)))
	return blocks
}

// lines lists the statement about a later event as it is.
func (d receiptDocument) lines() []pdf.Block {
	var blocks []pdf.Block
	for _, l := range d.stated.Lines {
		blocks = append(blocks, pdf.Block{Text: d.legible(l.Name + " " + l.Value)})
	}
	return blocks
}

func (d receiptDocument) answers(list []transfer.Answer) []pdf.Section {
	if len(list) == 0 {
		return nil
	}
	s := pdf.Section{Heading: d.T("Answers")}
	for _, a := range list {
		s.Blocks = append(s.Blocks, pdf.Block{Text: d.legible(a.Title + ": " + a.Value)})
	}
	return []pdf.Section{s}
}

func (d receiptDocument) files() pdf.Section {
	s := pdf.Section{Heading: d.T("Files")}
	items := make([]string, len(d.stated.Objects))
	for i, o := range d.stated.Objects {
		items[i] = d.legible(o.Name) + " · " + d.Bytes(o.Size) + "\nSHA-256 " + o.SHA256
	}
	s.Blocks = append(s.Blocks, pdf.Block{Items: items})
	count, _, _ := strings.Cut(d.stated.Get("objects"), " ")
	if n, err := strconv.Atoi(count); err == nil && n > len(items) {
		s.Blocks = append(s.Blocks, pdf.Block{Text: d.N("and %d more file", "and %d more files", n-len(items))})
	}
	return s
}

// checking says where the proof is and how it is checked.
func (d receiptDocument) checking(verify string, attached bool) pdf.Section {
	s := pdf.Section{Heading: d.T("How to check this receipt")}
	say := func(text string) { s.Blocks = append(s.Blocks, pdf.Block{Text: text}) }
	if attached {
		say(d.F("This document is for reading. The proof is the file receipt.consign, which is attached to it. Check the file at %s or with "+
			"“consign verify”.", verify))
	} else {
		say(d.F("This document is for reading. The proof is the file receipt.consign, which is too large to be attached. Save it separately, "+
			"and check it at %s or with “consign verify”.", verify))
	}
	text, _, _ := bytes.Cut(d.proof.Checkpoint, []byte("\n\n"))
	if tree, err := proof.ParseCheckpointText(string(text) + "\n"); err == nil {
		say(d.legible(tree.Origin) + " #" + strconv.FormatInt(d.proof.Index, 10) + " / " + strconv.FormatInt(tree.N, 10))
	}
	say(d.T("It doesn’t prove who was at the keyboard, or that what the files say is true. Times are this server’s."))
	say(d.F("Characters that this document cannot show are written as their numbers, like %s. The file has them as they are.", "⟨U+0645⟩"))
	return s
}
