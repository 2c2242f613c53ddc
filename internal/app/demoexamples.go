// What a demo shows before anybody has used it: three transfers, a request half done, an API token and a webhook. They are made
// over HTTP, as everybody makes them.

package app

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/identityapi"
	"github.com/consign-dev/consign/client/transferapi"
	"github.com/consign-dev/consign/internal/events"
)

// demoScopes are the scopes of the demo's token: all that an example in docs/use/integrate.md needs.
var demoScopes = []identityapi.Scope{"mailbox:drop", "transfers:read", "transfers:send", "requests:read", "requests:manage", "webhooks"}

// seedExamples makes the examples. A crash within it leaves a demo that is not done: the next start makes the missing ones, and one of
// them may be there twice.
func (a *App) seedExamples(ctx context.Context) error {
	return a.inside(ctx, func(h *http.Client) error {
		visitor, err := client.New(ctx, a.config.PublicURL.String(), client.WithHTTPClient(h))
		if err != nil {
			return err
		}
		token := a.demoFile().value(demoToken)
		if token == "" {
			if token, err = a.makeToken(ctx, h); err != nil {
				return err
			}
			if err := a.demoFile().add(demoValue{demoToken, token}); err != nil {
				return err
			}
		}
		owner, err := client.New(ctx, a.config.PublicURL.String(), client.WithHTTPClient(h), client.WithAPIToken(token))
		if err != nil {
			return err
		}
		for _, seed := range []func(context.Context, *client.Client, *client.Client) error{
			a.seedWebhook, seedTransfers, seedRequest,
		} {
			if err := seed(ctx, owner, visitor); err != nil {
				return err
			}
		}
		return nil
	})
}

// makeToken makes the API token of the demo's owner.
func (a *App) makeToken(ctx context.Context, h *http.Client) (string, error) {
	c, err := client.New(ctx, a.config.PublicURL.String(), client.WithHTTPClient(h), client.WithUserAgent("consign serve --demo"))
	if err != nil {
		return "", err
	}
	if err := c.Login(ctx, demoEmail, a.demoFile().value("password"), nil); err != nil {
		return "", fmt.Errorf("sign the owner in: %w", err)
	}
	expires := a.now().Add(365 * 24 * time.Hour).UTC().Truncate(time.Millisecond)
	mailboxes := []string{demoLink}
	made, err := c.Identity.CreateAPIToken(ctx, identityapi.NewAPIToken{Name: "Demo", Scopes: demoScopes, ExpirationTimestamp: &expires,
		Mailboxes: &mailboxes}, c.IDToken)
	if err != nil {
		return "", fmt.Errorf("make the API token: %w", err)
	}
	return made.Token, c.Logout(ctx)
}

// seedWebhook makes the webhook that posts to the inspector.
func (a *App) seedWebhook(ctx context.Context, owner, _ *client.Client) error {
	if a.demoFile().value(demoSecret) != "" {
		return nil
	}
	kinds := make([]identityapi.WebhookEventKind, len(events.Kinds))
	for i, kind := range events.Kinds {
		kinds[i] = identityapi.WebhookEventKind(kind)
	}
	made, err := owner.Identity.CreateWebhook(ctx, identityapi.NewWebhook{URL: a.page(inspectorPath), Events: kinds})
	if err != nil {
		return fmt.Errorf("make the webhook: %w", err)
	}
	return a.demoFile().add(demoValue{demoSecret, made.Secret})
}

// seedTransfers makes two transfers to the mailbox and one to a recipient.
func seedTransfers(ctx context.Context, owner, visitor *client.Client) error {
	for _, example := range []struct {
		from     *client.Client
		delivery client.Delivery
		files    []client.File
	}{
		{visitor, client.Delivery{Mailbox: demoLink, SenderName: "Sam Stranger", SenderEmail: "sam@example.com",
			Subject: "Measurements of November", Message: "Hello Olivia,\n\nhere are the figures you asked for.\n\nSam"},
			[]client.File{example("measurements/week 47.csv", "day,celsius\n2026-11-16,7.5\n2026-11-17,6.0\n2026-11-18,8.5\n"),
				example("measurements/read me.txt", "Measured at noon, in the shade.\n")}},
		{visitor, client.Delivery{Mailbox: demoLink, SenderName: "Petra Printer", SenderEmail: "petra@example.com",
			Subject: "Logo, second draft"},
			[]client.File{example("logo.svg", demoLogo)}},
		{owner, client.Delivery{Subject: "The offer", Message: "Dear Rita, the password is: open sesame", Password: "open sesame",
			Recipients: []transferapi.Recipient{{Email: "rita@example.com", DestinationType: "to"}}},
			[]client.File{example("offer.txt", "One hundred pictures, framed.\n")}},
	} {
		u, err := example.from.Reserve(ctx, example.delivery)
		if err != nil {
			return fmt.Errorf("example transfer %q: %w", example.delivery.Subject, err)
		}
		if err := upload(ctx, u, example.files...); err != nil {
			return err
		}
		if _, err := u.Confirm(ctx); err != nil {
			return fmt.Errorf("confirm the example transfer %q: %w", example.delivery.Subject, err)
		}
	}
	return nil
}

// seedRequest makes a request to two people of whom one has handed in one of two documents.
func seedRequest(ctx context.Context, owner, visitor *client.Client) error {
	due := time.Now().Add(14 * 24 * time.Hour).UTC().Truncate(time.Hour)
	title, bob, eve := "Documents for the tax return", "Bob Builder", "Eve Engineer"
	made, err := owner.Transfer.CreateRequest(ctx, transferapi.DocumentRequestCreation{Title: &title, Due: &due,
		Items:   []transferapi.ItemRequest{{Name: "Bank statements"}, {Name: "Lease"}},
		Parties: &[]transferapi.PartyRequest{{Email: "bob@example.com", Name: &bob}, {Email: "eve@example.com", Name: &eve}}})
	if err != nil {
		return fmt.Errorf("example request: %w", err)
	}
	var key string
	for _, p := range made.Parties {
		if p.Email == "bob@example.com" && p.Link != nil {
			key = path.Base(*p.Link)
		}
	}
	u, err := visitor.Reserve(ctx, client.Delivery{Request: key})
	if err != nil {
		return fmt.Errorf("open the example request: %w", err)
	}
	statement := example("statement.csv", "date,amount\n2026-10-31,1200.00\n")
	statement.Item = uuid.UUID(made.Items[0].UID)
	if err := upload(ctx, u, statement); err != nil {
		return err
	}
	partly := true
	if _, err = visitor.Transfer.HandIn(ctx, key, transferapi.HandInRequest{Partly: &partly}); err != nil {
		return fmt.Errorf("hand in for the example request: %w", err)
	}
	return nil
}

func upload(ctx context.Context, u *client.Upload, files ...client.File) error {
	if err := u.Attach(ctx, files...); err != nil {
		return fmt.Errorf("attach example files: %w", err)
	}
	if err := u.Upload(ctx, client.UploadOptions{AtOnce: 1, Parallel: 1}); err != nil {
		return fmt.Errorf("upload example files: %w", err)
	}
	return nil
}

// example returns a file with text in it.
func example(name, text string) client.File {
	open := func() (client.Content, error) { return inMemory{strings.NewReader(text)}, nil }
	return client.File{Name: name, Size: int64(len(text)), Open: open}
}

type inMemory struct{ *strings.Reader }

// Close implements client.Content.
func (inMemory) Close() error { return nil }

const demoLogo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 60"><rect width="120" height="60" rx="8" fill="#0b5563"/>` +
	`<circle cx="32" cy="30" r="14" fill="#f4c95d"/><path d="M58 20h44M58 32h34M58 44h40" stroke="#fff" stroke-width="4"/></svg>` + "\n"
