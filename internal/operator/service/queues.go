package service

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/text"
)

// Mails lists the mail queue, newest first, and whether there are more.
func (s *Service) Mails(ctx context.Context, f mail.Filter) ([]mail.Mail, bool, error) {
	limit := f.Limit
	f.Limit++
	list, err := s.options.Mail.List(ctx, f)
	if len(list) > limit {
		return list[:limit], true, err
	}
	return list, false, err
}

// RetryMail makes a queued mail due now and queues a failed one again.
// Errors: mail.ErrNotFound, mail.ErrFinished, mail.ErrNoSecret, mail.ErrErased.
func (s *Service) RetryMail(ctx context.Context, uid id.Mail) error {
	return s.options.Mail.Retry(ctx, uid)
}

// RetryMails makes the mails of a filter whose last attempt failed due now.
func (s *Service) RetryMails(ctx context.Context, f mail.Filter) (mail.Retried, error) {
	return s.options.Mail.RetryAll(ctx, f)
}

// maxAnswer is how many bytes of a mail server's answer TestMail returns.
const maxAnswer = 1000

// TestMail sends a test mail now. It returns what the mail server answered, and whether it took the mail.
// Errors: fault.ErrInvalid for an address that is none.
func (s *Service) TestMail(ctx context.Context, address, locale string) (answer string, sent bool, err error) {
	to, err := text.Email(address)
	if err != nil {
		return "", false, fault.ErrInvalid.With("address: " + err.Error())
	}
	answer, err = s.options.Mail.Test(ctx, to, locale)
	if err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return "", false, err
		}
		answer = err.Error()
	}
	if len(answer) > maxAnswer {
		answer = answer[:maxAnswer]
		for !utf8.ValidString(answer) {
			answer = answer[:len(answer)-1]
		}
	}
	return answer, err == nil, nil
}

// Jobs lists the background jobs, newest first, and whether there are more.
func (s *Service) Jobs(ctx context.Context, f jobs.Filter) ([]jobs.Job, bool, error) {
	limit := f.Limit
	f.Limit++
	list, err := s.options.Jobs.List(ctx, f)
	if len(list) > limit {
		return list[:limit], true, err
	}
	return list, false, err
}

// RetryJob makes a job due now.
// Errors: jobs.ErrNotFound.
func (s *Service) RetryJob(ctx context.Context, job int64) (jobs.Job, error) {
	return s.options.Jobs.Retry(ctx, job)
}

// CancelJob ends a job.
// Errors: jobs.ErrNotFound.
func (s *Service) CancelJob(ctx context.Context, job int64) (jobs.Job, error) {
	return s.options.Jobs.Cancel(ctx, job)
}
