// Makes the free organization at the first start, and follows a change of the public host.

package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
)

// publicHostSetting is the setting with PUBLIC_URL's host at the last start, which shows whether the host has changed.
const publicHostSetting = "identity.public_host"

// Bootstrap creates the free organization at the first start. When PUBLIC_URL's host differs from that of the last
// start, it becomes the free organization's active hostname (contract 1.2). Replicas can call it at the same time.
// Errors: identity.ErrHostInUse when the host belongs to another organization.
func (s *Service) Bootstrap(ctx context.Context) error {
	host := hosts.Normalize(s.settings.PublicURL.Host)
	var last string
	if known, err := database.Setting(ctx, s.store.Querier(), publicHostSetting, &last); err != nil || known && last == host {
		return err // the usual case needs no transaction and no lock
	}
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockBootstrap(ctx); err != nil {
			return err
		}
		free, err := tx.FindOrganization(ctx, FreeOrganization)
		if errors.Is(err, identity.ErrOrganizationNotFound) {
			free, err = s.createFree(ctx, tx)
		}
		if err != nil {
			return err
		}
		known, err := database.Setting(ctx, tx.Tx(), publicHostSetting, &last)
		if err != nil || known && last == host {
			return err
		}
		if known {
			s.log.InfoContext(ctx, "the host of the public URL has changed: it is now the free organization's active hostname, the old one "+
				"is inactive",
				"host", host, "old", last)
		}
		if err := tx.ActivateHost(ctx, free, host, s.now()); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		return database.PutSetting(ctx, tx.Tx(), s.now(), publicHostSetting, host)
	})
	if errors.Is(err, identity.ErrHostInUse) {
		return fmt.Errorf("CONSIGN_PUBLIC_URL: %s is a hostname of another organization: %w", host, err)
	}
	return err
}

// BootstrapOnce calls Bootstrap unless there is a free organization. Commands use it: their environment may lack the
// server's PUBLIC_URL and must not change the hostname of an existing installation.
func (s *Service) BootstrapOnce(ctx context.Context) error {
	_, err := s.store.FindOrganization(ctx, FreeOrganization)
	if errors.Is(err, identity.ErrOrganizationNotFound) {
		return s.Bootstrap(ctx)
	}
	return err
}

// createFree stores the free organization with its plan.
func (s *Service) createFree(ctx context.Context, tx *postgres.Store) (id.Organization, error) {
	free := id.New[id.Organization]()
	plan, err := identity.FreePlan(s.settings.NewTransfers.Capacity, s.settings.NewTransfers.PerSecond).Columns()
	if err != nil {
		return free, err
	}
	n := postgres.NewOrganization{UID: free, Free: true, Name: s.settings.ProductName, Locale: i18n.Default, TimeZone: "UTC",
		CreatedAt: s.now()}
	if err := tx.InsertOrganization(ctx, n); err != nil {
		return free, err
	}
	if err := tx.SetLimits(ctx, free, plan); err != nil {
		return free, err
	}
	return free, s.recordOf(ctx, tx, audit.Actor{Kind: audit.Job}, free, "organization.create", nil)
}
