package service

import (
	"context"
	"iter"
	"slices"

	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// AnsweredTransfer is a transfer to the caller's mailbox with the answers by the names of their fields.
type AnsweredTransfer struct {
	SeenTransfer
	ByName map[string]transfer.Answer
}

// AnsweredTransfers streams what reached the caller's mailbox, newest first, with the questions of the mailbox. Each page is a
// statement of its own: what arrives meanwhile is left out.
// Errors: transfer.ErrNotFound when the caller has no mailbox.
func (s *Service) AnsweredTransfers(ctx context.Context,
	caller token.Caller) (questions []transfer.Answer, list iter.Seq2[AnsweredTransfer, error], err error) {
	mailbox, err := s.Mailbox(ctx, caller)
	if err != nil {
		return nil, nil, err
	}
	page := postgres.Page{Received: true, Limit: transfer.MaxPage}
	// before the answer begins, so that a failure is an error answer
	rows, end, err := s.store.Transfers(ctx, caller.Person, page, s.scope(caller))
	if err != nil {
		return nil, nil, err
	}
	return transfer.Questions(mailbox.FieldsSchema, mailbox.UISchema), func(yield func(AnsweredTransfer, error) bool) {
		for {
			for t, err := range s.seen(ctx, slices.DeleteFunc(rows, notToMailbox)) {
				if !yield(answered(t, mailbox), err) || err != nil {
					return
				}
			}
			if end == (postgres.Position{}) {
				return
			}
			page.After = end
			if rows, end, err = s.store.Transfers(ctx, caller.Person, page, s.scope(caller)); err != nil {
				yield(AnsweredTransfer{}, err)
				return
			}
		}
	}, nil
}

func notToMailbox(t postgres.SeenTransfer) bool { return t.Kind != transfer.KindMailbox }

func answered(t SeenTransfer, m transfer.PublicMailbox) AnsweredTransfer {
	a := AnsweredTransfer{SeenTransfer: t, ByName: map[string]transfer.Answer{}}
	for _, answer := range transfer.Answers(m.FieldsSchema, m.UISchema, t.Fields) {
		a.ByName[answer.Name] = answer
	}
	return a
}
