// The demo of consign serve --demo: its owner, mailbox and password, and the greeting at each start.

package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/identity"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/transfer"
)

const (
	demoSetting = "demo"
	demoLink    = "demo"
	demoEmail   = "owner@example.com"

	demoVolumeGB = 1000.0
)

// demoState is the value of demoSetting. It is stored before the seeding begins, so that an interrupted seeding is resumed.
type demoState struct {
	Done bool `json:"done"`
}

// seedDemo creates the demo's owner, mailbox and examples once, on one replica. It refuses a database with people that it did not create.
// The transaction only keeps the lock: what is seeded is committed piece by piece, so that an interrupted seeding goes on.
func (a *App) seedDemo(ctx context.Context) error {
	return a.DB.InTx(ctx, func(tx database.Tx) error {
		if err := database.LockSetting(ctx, tx, demoSetting); err != nil {
			return err
		}
		var state demoState
		begun, err := database.Setting(ctx, a.DB.Pool, demoSetting, &state)
		if err != nil || state.Done {
			return err
		}
		if !begun {
			if n, err := a.Identity.CountPersons(ctx); err != nil {
				return err
			} else if n > 0 {
				return errors.New("--demo is for an empty database, and this one has people in it: start without --demo")
			}
			if err := database.PutSetting(ctx, a.DB.Pool, a.now(), demoSetting, state); err != nil {
				return err
			}
		}
		if err := a.seedOwner(ctx); err != nil {
			return err
		}
		if err := a.seedExamples(ctx); err != nil {
			return err
		}
		return database.PutSetting(ctx, a.DB.Pool, a.now(), demoSetting, demoState{Done: true})
	})
}

func (a *App) seedOwner(ctx context.Context) error {
	password, err := a.demoPassword()
	if err != nil {
		return err
	}
	by := audit.Actor{Kind: audit.Job}
	_, err = a.Identity.CreatePerson(ctx, by, identityservice.NewAccount{Address: demoEmail, Password: password, Name: "Olivia Owner"}, true)
	if err != nil && !errors.Is(err, identity.ErrAddressInUse) {
		return err
	}
	roles := []string{identity.RoleOrganizationAdmin, identity.RoleTransferUse}
	if err := a.Identity.SetMember(ctx, by, identityservice.FreeOrganization, demoEmail, roles); err != nil {
		return err
	}
	// One machine is one client network.
	generous := identity.LimitsChange{NewTransferLimit: identity.To(10_000), NewTransferDrainRate: identity.To(10.0),
		TransferVolumeGB: identity.To(demoVolumeGB), StorageVolumeGB: identity.To(demoVolumeGB)} // strangers come to a demo
	if err := a.Identity.SetLimits(ctx, by, identityservice.FreeOrganization, generous); err != nil {
		return err
	}
	owner, err := a.Identity.ShowPerson(ctx, demoEmail)
	if err != nil {
		return err
	}
	_, _, err = a.Transfer.SetMailbox(ctx, by, transfer.Mailbox{Person: owner.UID, VanityLink: demoLink, Slogan: "Hand me your files."})
	return err
}

// demoPassword returns the password of an interrupted seeding, or a new one, which it writes to the file first.
func (a *App) demoPassword() (string, error) {
	f := a.demoFile()
	password := cmp.Or(f.value("password"), rand.Text())
	values := []demoValue{{"mailbox", a.page("/m/" + demoLink)}, {"email", demoEmail}, {"password", password}}
	for _, kept := range []string{demoToken, demoSecret} { // of an interrupted seeding
		if value := f.value(kept); value != "" {
			values = append(values, demoValue{kept, value})
		}
	}
	return password, f.write(values...)
}

// page returns the URL of a page on the public host.
func (a *App) page(path string) string { return a.config.PublicURL.String() + path }

// greet prints the addresses of the pages and APIs.
func (a *App) greet(ctx context.Context) {
	out := a.options.Greet
	if out == nil {
		return
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("Consign %s is ready at %s", a.options.Version, a.config.PublicURL)
	var demo demoState
	if found, err := database.Setting(ctx, a.DB.Pool, demoSetting, &demo); err == nil && found {
		say("  demo mailbox   %s", a.page("/m/"+demoLink))
		f := a.demoFile()
		say("  owner          %s, password %s (%s)", demoEmail, f.value("password"), f.name())
		say("  API token      %s", cmp.Or(f.value(demoToken), "none: this demo was begun by an older version"))
		say("  webhooks       %s", a.page(inspectorPath))
	}
	if due, err := nextReset(a.config); err == nil && a.options.DemoReset > 0 {
		say("  reset          all is deleted at %s, then once in %s", due.Format(time.RFC3339), a.options.DemoReset)
	}
	say("  sign in        %s", a.page("/login"))
	if a.config.SMTPURL == "" {
		say("  mails          %s (their links are logged)", filepath.Join(a.config.DataDir, "mail"))
	}
	say("  API            %s", a.page("/api/"))
}
