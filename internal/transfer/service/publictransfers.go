// What a link shows while it is locked, mailed codes, and the ways to open it.

package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Limits of the access codes of contract 4: six digits, valid 10 min, 5 tries each, 10 codes per link and day.
const (
	codeLifetime = 10 * time.Minute
	codeTries    = 5
	codesADay    = 10
)

// Link is a transfer found by the link of a delivery.
type Link struct {
	Delivery id.Delivery // rate limits and tokens are per delivery

	linked postgres.Linked
}

// Link finds the transfer of the key in a link.
// Errors: transfer.ErrNotFound for a key that never existed, and for a transfer
// that was revoked, has expired or is hidden by its recipient.
func (s *Service) Link(ctx context.Context, caller token.Caller, key string) (Link, error) {
	l, err := s.store.Linked(ctx, seal.Hash(key), s.scope(caller))
	if err != nil {
		return Link{}, err
	}
	return Link{Delivery: l.Recipient.UID, linked: l}, nil
}

// LinkedTransfer is a transfer as its link shows it. It has no content while Locked.
type LinkedTransfer struct {
	transfer.Transfer
	Locked  bool
	Mailbox *transfer.PublicMailbox // whose picture is behind its page, and that takes replies; nil: none
}

// LinkedTransfer returns the transfer behind a link, and its objects unless it is locked. A download token of the same
// delivery unlocks it; without protection it is not locked.
// Errors: transfer.ErrNotFound.
func (s *Service) LinkedTransfer(ctx context.Context, caller token.Caller, key string) (LinkedTransfer, Objects, error) {
	l, err := s.Link(ctx, caller, key)
	if err != nil {
		return LinkedTransfer{}, nil, err
	}
	t := LinkedTransfer{Transfer: l.linked.Transfer}
	t.Locked = t.Protection != transfer.ProtectNone &&
		!(caller.Kind == token.KindDownload && caller.Delivery == l.Delivery && caller.Epoch == l.linked.ProtectionEpoch)
	if t.Locked {
		hide(&t.Transfer)
		return t, nil, nil
	}
	if err := s.addAnswers(ctx, &t.Transfer); err != nil {
		return LinkedTransfer{}, nil, err
	}
	if t.Mailbox, err = s.mailboxBehind(ctx, caller, l); err != nil {
		return LinkedTransfer{}, nil, err
	}
	return t, s.delivered(ctx, SeenTransfer{Transfer: t.Transfer}), nil
}

// mailboxBehind returns the mailbox that a transfer was sent to, for its owner, otherwise that of the sender; nil when there is none on
// this host or it is suspended. Holders of the link know the sender's uid, which is also the mailbox's.
func (s *Service) mailboxBehind(ctx context.Context, caller token.Caller, l Link) (*transfer.PublicMailbox, error) {
	p := l.linked.Sender.Person
	if l.linked.Kind == transfer.KindMailbox {
		p = l.linked.Recipient.Person
	}
	if p.IsZero() {
		return nil, nil
	}
	m, err := s.PublicMailbox(ctx, caller, p.String())
	if errors.Is(err, transfer.ErrNotFound) || m.Suspended || m.Owner.Suspended {
		return nil, nil
	}
	return &m, err
}

// SendCode mails a new access code to the recipient of a link and invalidates the previous one. locale is used for a recipient
// without an account.
// Errors: transfer.ErrNoCode, transfer.ErrTooManyCodes.
func (s *Service) SendCode(ctx context.Context, l Link, locale string) error {
	t, to := l.linked.Transfer, l.linked.Recipient
	if t.Protection != transfer.ProtectIdentity {
		return transfer.ErrNoCode.With("the transfer is not protected by a code")
	}
	if to.Email == "" {
		return transfer.ErrNoCode.With("this link names no recipient; each recipient's own link is in the mail to them")
	}
	code, err := newCode()
	if err != nil {
		return err
	}
	m := mail.Message{
		To: to.Email, ToName: to.Name, Locale: l.linked.Locale, TimeZone: l.linked.TimeZone, Template: mail.AccessCode,
		Secret: map[string]string{"code": code}, Reference: deliveryReference + to.UID.String(),
	}
	if m.Locale == "" {
		m.Locale, m.TimeZone = locale, l.linked.SenderZone
	}
	if m.Locale == "" {
		m.Locale = l.linked.SenderLocale
	}
	now := s.now()
	m.GiveUpAt = now.Add(codeLifetime)
	m.Data = map[string]any{"sender": senderName(t.Sender), "expiresAt": m.GiveUpAt}
	markUnverified(m.Data, t.Sender)
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		today := now.UTC().Truncate(day)
		set, err := tx.SetCode(ctx, to.UID, s.codeHash(to.UID, code), m.GiveUpAt, today, codesADay)
		if err != nil {
			return err
		}
		if !set {
			return transfer.ErrTooManyCodes.WithRetryAfter(today.Add(day).Sub(now))
		}
		_, err = s.mailer.Queue(ctx, tx.Tx(), m)
		return err
	})
}

func newCode() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", fmt.Errorf("make access code: %w", err)
	}
	return fmt.Sprintf("%06d", n), nil
}

// codeHash returns the MAC of a code under the secret key. An unkeyed hash could be reversed by trying all million codes.
func (s *Service) codeHash(d id.Delivery, code string) []byte {
	return s.sealer.MAC("access code", d.UUID[:], []byte(code))
}

// Credentials are what a recipient presents. Nil members are not given.
type Credentials struct {
	Password *string
	Code     *string
}

// OpenLink returns a download token for a link's delivery. The protection decides what it needs: nothing, the password, or
// proof of the recipient by a mailed code or by an access token whose account holds the address verified.
// Errors: transfer.ErrPassword, transfer.ErrCode.
func (s *Service) OpenLink(ctx context.Context, caller token.Caller, l Link, in Credentials) (raw string, err error) {
	switch l.linked.Protection {
	case transfer.ProtectPassword:
		err = s.checkPassword(ctx, l, in.Password)
	case transfer.ProtectIdentity:
		err = s.checkRecipient(ctx, caller, l, in.Code)
	}
	if err != nil {
		return "", err
	}
	if l.linked.ObjectCount == 0 && !l.linked.DeliveryOpened {
		if err := s.recordAccess(ctx, caller, l.Delivery); err != nil { // without objects no download counts as the first access
			return "", err
		}
	}
	now := s.now()
	expires := l.linked.ExpiresAt
	if life := s.issuer.Lifetimes().Download; now.Add(life).Before(expires) {
		expires = now.Add(life)
	}
	return s.issuer.Issue(ctx, token.KindDownload, token.Claims{Delivery: l.Delivery, Epoch: l.linked.ProtectionEpoch, IssuedAt: now,
		ExpiresAt: expires})
}

func (s *Service) checkPassword(ctx context.Context, l Link, password *string) error {
	if password == nil {
		return transfer.ErrPassword
	}
	right, err := s.hasher.Compare(ctx, l.linked.PasswordHash, *password)
	if err != nil {
		return err
	}
	if !right {
		return transfer.ErrPassword
	}
	return nil
}

func (s *Service) checkRecipient(ctx context.Context, caller token.Caller, l Link, code *string) error {
	if code != nil {
		right, err := s.store.TryCode(ctx, l.Delivery, s.codeHash(l.Delivery, *code), s.now(), codeTries)
		if err != nil || right {
			return err
		}
		return transfer.ErrCode
	}
	if caller.Kind != token.KindAccess {
		return transfer.ErrCode
	}
	verified, err := s.store.RecipientVerified(ctx, l.Delivery, caller.Person)
	if err != nil || verified {
		return err
	}
	return transfer.ErrCode.With("code: is required, since your account does not hold the recipient's address verified")
}
