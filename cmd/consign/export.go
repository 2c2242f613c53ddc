package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/app"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/transfer"
	transferservice "github.com/consign-dev/consign/internal/transfer/service"
)

// exported is everything that is kept of one person, as JSON: what somebody may ask for who asks what is known of them.
type exported struct {
	UID            string                  `json:"uid"`
	Name           string                  `json:"name,omitempty"`
	Locale         string                  `json:"locale"`
	TimeZone       string                  `json:"timeZone"`
	CreatedAt      time.Time               `json:"createdAt"`
	LastLoginAt    *time.Time              `json:"lastLoginAt,omitempty"`
	Emails         []exportedEmail         `json:"emails"`
	Membership     *exportedMembership     `json:"membership"`
	Avatar         []byte                  `json:"avatar,omitempty"` // JPEG in base64
	Authenticators []exportedAuthenticator `json:"authenticators"`
	Sessions       []exportedSession       `json:"sessions"`
	Mailbox        *exportedMailbox        `json:"mailbox"`
	Transfers      []exportedTransfer      `json:"transfers"`
	Audit          []exportedAct           `json:"audit"`
}

type exportedEmail struct {
	Address  string     `json:"address"`
	Primary  bool       `json:"primary"`
	Verified bool       `json:"verified"`
	RemoveAt *time.Time `json:"removeAt"`
}

type exportedMembership struct {
	Organization string   `json:"organization"`
	Name         string   `json:"name,omitempty"`
	Roles        []string `json:"roles"`
}

type exportedAuthenticator struct {
	Type         string    `json:"type"`
	Name         string    `json:"name,omitempty"`
	RegisteredAt time.Time `json:"registeredAt"`
	UpdatedAt    time.Time `json:"updatedAt"`
}

type exportedSession struct {
	IssuedAt  time.Time `json:"issuedAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	UserAgent string    `json:"userAgent"`
	IP        string    `json:"ip"`
}

type exportedMailbox struct {
	Name           string          `json:"name,omitempty"`
	Email          string          `json:"email,omitempty"`
	VanityLink     string          `json:"vanityLink,omitempty"`
	Slogan         string          `json:"slogan,omitempty"`
	Absent         bool            `json:"absent"`
	AbsenceMessage string          `json:"absenceMessage,omitempty"`
	Secure         bool            `json:"secure"`
	FieldsSchema   json.RawMessage `json:"fieldsSchema,omitempty"`
	UISchema       json.RawMessage `json:"uiSchema,omitempty"`
	MIMETypeFilter []string        `json:"mimeTypeFilter,omitempty"`
}

type exportedTransfer struct {
	UID         string           `json:"uid"`
	Type        string           `json:"type"`
	State       string           `json:"state"`
	Locked      bool             `json:"locked"` // protected: what it holds is not shown to the person either
	Subject     string           `json:"subject,omitempty"`
	Message     string           `json:"message,omitempty"`
	Fields      json.RawMessage  `json:"fields,omitempty"`
	SenderName  string           `json:"senderName,omitempty"`
	SenderEmail string           `json:"senderEmail,omitempty"`
	Recipients  []string         `json:"recipients"`
	CreatedAt   time.Time        `json:"createdAt"`
	ExpiresAt   time.Time        `json:"expiresAt"`
	Objects     []exportedObject `json:"objects"`
}

type exportedObject struct {
	Name          string `json:"name,omitempty"`
	ContentLength int64  `json:"contentLength"`
	SHA256        string `json:"sha256,omitempty"`
}

type exportedAct struct {
	At      time.Time         `json:"at"`
	Action  string            `json:"action"`
	Object  string            `json:"object,omitempty"`
	From    string            `json:"from,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}

// exportPerson prints everything that is kept of a person. The files themselves are downloaded through the API.
func exportPerson(ctx context.Context, env environment, a *app.App, who string) error {
	record, err := a.Identity.ExportPerson(ctx, who)
	if err != nil {
		return err
	}
	out := exportedFrom(record)
	mailbox, err := a.Transfer.PersonMailbox(ctx, record.UID)
	switch {
	case err == nil:
		out.Mailbox = &exportedMailbox{
			Name: mailbox.Name, Email: mailbox.Email, VanityLink: mailbox.VanityLink, Slogan: mailbox.Slogan, Absent: mailbox.Absent,
			AbsenceMessage: mailbox.AbsenceMessage, Secure: mailbox.Secure, FieldsSchema: mailbox.FieldsSchema, UISchema: mailbox.UISchema,
			MIMETypeFilter: mailbox.MIMETypeFilter,
		}
	case !errors.Is(err, transfer.ErrNotFound):
		return err
	}
	transfers, err := a.Transfer.PersonTransfers(ctx, record.UID)
	if err != nil {
		return err
	}
	for _, t := range transfers {
		out.Transfers = append(out.Transfers, exportedTransferFrom(t))
	}
	e := json.NewEncoder(env.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func exportedFrom(r identityservice.PersonRecord) exported {
	out := exported{
		UID: r.UID.String(), Name: r.Name, Locale: r.Locale, TimeZone: r.TimeZone, CreatedAt: r.CreatedAt, LastLoginAt: r.LastLoginAt,
		Emails: make([]exportedEmail, len(r.Emails)), Avatar: r.Avatar, Authenticators: []exportedAuthenticator{}, Sessions: []exportedSession{},
		Transfers: []exportedTransfer{}, Audit: []exportedAct{},
	}
	for i, e := range r.Emails {
		out.Emails[i] = exportedEmail(e)
	}
	if r.Organization != nil {
		out.Membership = &exportedMembership{Organization: r.Organization.UID.String(), Name: r.Organization.Name, Roles: r.Roles}
	}
	for _, a := range r.Authenticators {
		out.Authenticators = append(out.Authenticators, exportedAuthenticator{Type: a.Type, Name: a.Name, RegisteredAt: a.RegisteredAt, UpdatedAt: a.UpdatedAt})
	}
	for _, s := range r.Sessions {
		out.Sessions = append(out.Sessions, exportedSession{IssuedAt: s.IssuedAt, ExpiresAt: s.ExpiresAt, UserAgent: s.UserAgent, IP: s.IP})
	}
	for _, e := range r.Audit {
		act := exportedAct{At: e.At, Action: e.Action, Object: e.Object, Details: e.Details}
		if e.Actor == r.UID && e.Client.Address.IsValid() { // others' addresses are not this person's to know
			act.From = e.Client.Address.String()
		}
		out.Audit = append(out.Audit, act)
	}
	return out
}

func exportedTransferFrom(t transferservice.SeenTransfer) exportedTransfer {
	out := exportedTransfer{
		UID: t.UID.String(), Type: string(t.Kind), State: string(t.State), Locked: t.Locked, Subject: t.Subject, Message: t.Message, Fields: t.Fields,
		SenderName: t.Sender.Name, SenderEmail: t.Sender.Email, Recipients: []string{}, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
		Objects: make([]exportedObject, len(t.Objects)),
	}
	for _, d := range t.Recipients {
		out.Recipients = append(out.Recipients, d.Email)
	}
	for i, o := range t.Objects {
		out.Objects[i] = exportedObject{Name: o.Name, ContentLength: o.Held, SHA256: hex.EncodeToString(o.SHA256)}
	}
	return out
}
