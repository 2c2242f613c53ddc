// The demo of consign serve --demo: its owner, mailbox and password, and the greeting at each start.

package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// seedDemo creates the demo's owner and mailbox once. It refuses a database with people that it did not create.
func (a *App) seedDemo(ctx context.Context) error {
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
	return database.PutSetting(ctx, a.DB.Pool, a.now(), demoSetting, demoState{Done: true})
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

func (a *App) demoFile() string { return filepath.Join(a.config.DataDir, "demo.txt") }

// demoPassword returns the password of an interrupted seeding, or a new one, which it writes to the file first.
func (a *App) demoPassword() (string, error) {
	if password := a.writtenPassword(); password != "" {
		return password, nil
	}
	password := rand.Text()
	text := fmt.Sprintf("mailbox: %s\nemail: %s\npassword: %s\n", a.page("/m/"+demoLink), demoEmail, password)
	if err := os.MkdirAll(a.config.DataDir, 0o711); err != nil {
		return "", err
	}
	return password, os.WriteFile(a.demoFile(), []byte(text), 0o600)
}

// writtenPassword returns the password in the demo's file, "" without one.
func (a *App) writtenPassword() string {
	raw, err := os.ReadFile(a.demoFile())
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if password, ok := strings.CutPrefix(strings.TrimSpace(line), "password: "); ok {
			return password
		}
	}
	return ""
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
		say("  owner          %s, password %s (%s)", demoEmail, a.writtenPassword(), a.demoFile())
	}
	say("  sign in        %s", a.page("/login"))
	if a.config.SMTPURL == "" {
		say("  mails          %s (their links are logged)", filepath.Join(a.config.DataDir, "mail"))
	}
	say("  API            %s", a.page("/api/"))
}
