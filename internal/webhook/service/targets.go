// Copies a transfer to an export target and keeps its lease meanwhile.

package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/outbound"
	"github.com/consign-dev/consign/internal/outbound/target"
	"github.com/consign-dev/consign/internal/webhook"
	"github.com/consign-dev/consign/internal/webhook/postgres"
)

// copyLease is how long a copy belongs to a replica. It is renewed while the copy goes on.
const (
	copyLease   = deliveryLease
	renewCopies = copyLease / 3
)

// errOvertaken ends a copy whose lease was lost, or whose target was deleted or made inactive.
var errOvertaken = errors.New("the copy is no longer this server's")

// export makes one attempt to copy a transfer to an export target. Its lease is renewed meanwhile.
func (s *Service) export(ctx context.Context, d postgres.DueDelivery) (outbound.Result, error) {
	password, err := s.box.Open(d.Secret, d.Webhook.UUID[:])
	if err != nil {
		return outbound.Result{}, fmt.Errorf("password of export target %s: %w", d.Webhook, err)
	}
	login := target.Login{User: d.Username, Password: string(password)}
	ctx, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		s.renewCopy(ctx, cancel, d)
	}()
	defer func() { cancel(nil); <-renewed }()
	if d.Kind == webhook.Ping {
		return s.Copier.Test(ctx, d.URL, login)
	}
	t, err := s.Transfers.ExportedTransfer(ctx, d.Subject, d.Receivers, d.OfOrganization)
	var r outbound.Result
	if err == nil {
		r, err = s.Copier.Copy(ctx, d.URL, login, t)
	}
	switch {
	case ctx.Err() != nil:
		return outbound.Result{Reason: outbound.ReasonFailed}, context.Cause(ctx)
	case errors.Is(err, target.ErrEnded):
		return outbound.Result{Reason: webhook.ReasonEnded}, nil
	case errors.Is(err, target.ErrProtected):
		return outbound.Result{Reason: webhook.ReasonProtected}, nil
	case errors.Is(err, target.ErrHeld): // until its check lets it go
		return outbound.Result{Reason: outbound.ReasonFailed}, nil
	case errors.Is(err, target.ErrPersonal):
		return outbound.Result{Reason: webhook.ReasonPersonal}, nil
	}
	return r, err
}

// renewCopy extends the lease of a copy until ctx is done, and cancels the copy when it has none.
func (s *Service) renewCopy(ctx context.Context, cancel context.CancelCauseFunc, d postgres.DueDelivery) {
	tick := time.NewTicker(renewCopies)
	defer tick.Stop()
	lost := time.Now().Add(copyLease)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := s.Now()
		ours, err := s.Store.RenewDelivery(ctx, d, now, now.Add(copyLease))
		switch {
		case err == nil && ours:
			lost = time.Now().Add(copyLease)
		case err == nil || time.Now().After(lost):
			cancel(errOvertaken)
			return
		}
	}
}

// settleExport stores the outcome of an attempt to copy, with an audit entry of what has left the installation.
func (s *Service) settleExport(ctx context.Context, d postgres.DueDelivery, o postgres.DeliveryOutcome,
	now time.Time) (failing *time.Time, err error) {
	err = s.Store.InTx(ctx, func(tx *postgres.Store) error {
		if o.Reason == webhook.ReasonPersonal {
			return tx.DeleteDelivery(ctx, d)
		}
		if failing, err = tx.SettleDelivery(ctx, d, o, now); err != nil || o.State != webhook.DeliveryDelivered || d.Kind == webhook.Ping {
			return err
		}
		w, err := tx.Webhook(ctx, d.Webhook)
		if err != nil {
			return err
		}
		return audit.Append(ctx, tx.Tx(), s.Now(), audit.Entry{
			Actor: audit.Actor{Kind: audit.Job}, Action: "webhook.export", Object: d.Subject, Target: w.Person, Organization: w.Organization,
			Details: map[string]string{"host": hostOf(w.URL), "webhook": w.UID.String()},
		})
	})
	return failing, err
}
