// Writes the export of a person's data, as JSON or as a zip with the avatar. It leaves out other people's addresses.

package app

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/netip"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/transfer"
	requestservice "github.com/consign-dev/consign/internal/transfer/request/service"
	transferservice "github.com/consign-dev/consign/internal/transfer/service"
)

// exported is the stored data of one person, as JSON, for a data access request. Transfers and audit entries follow it.
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
	KnownClients   []exportedClient        `json:"knownClients"` // programs without cookies that have logged in
	Mailbox        *exportedMailbox        `json:"mailbox"`
	APITokens      []exportedAPIToken      `json:"apiTokens"`
	Webhooks       []exportedWebhook       `json:"webhooks"`
	Groups         []exportedGroup         `json:"groups"` // mailbox groups that list the mailbox
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

// exportedClient has no name: only a MAC of the program and its network is stored.
type exportedClient struct {
	LastLoginAt time.Time `json:"lastLoginAt"`
}

type exportedAPIToken struct {
	UID          string     `json:"uid"`
	Name         string     `json:"name"`
	Organization string     `json:"organization,omitempty"` // that manages it; it acts as the person
	Scopes       []string   `json:"scopes"`
	Mailboxes    []string   `json:"mailboxes,omitempty"`
	CreatedAt    time.Time  `json:"createdAt"`
	ExpiresAt    time.Time  `json:"expiresAt"`
	LastUsedAt   *time.Time `json:"lastUsedAt,omitempty"`
	LastIP       string     `json:"lastIp,omitempty"`
}

type exportedWebhook struct {
	UID       string    `json:"uid"`
	URL       string    `json:"url"`
	Events    []string  `json:"events"`
	Active    bool      `json:"active"`
	CreatedAt time.Time `json:"createdAt"`
}

type exportedGroup struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
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
	MaxFiles       int32           `json:"maxFiles,omitempty"`
	MaxFileSizeMB  int64           `json:"maxFileSizeMb,omitempty"`
	VerifySender   bool            `json:"verifySender"`
	PrefillLocked  bool            `json:"prefillLocked"`
	OwnNetworks    []netip.Prefix  `json:"ownNetworks,omitempty"`
	Picture        []byte          `json:"picture,omitempty"` // JPEG in base64
}

type exportedTransfer struct {
	UID         string           `json:"uid"`
	Sent        bool             `json:"sent"` // by the person; else received
	Type        string           `json:"type"`
	State       string           `json:"state"`
	Locked      bool             `json:"locked"` // protected: its contents are not shown to the person either
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

// exportedRequest has the addresses of the parties: the person has entered them, or they have joined by the person's link.
type exportedRequest struct {
	UID       string          `json:"uid"`
	Title     string          `json:"title,omitempty"`
	Message   string          `json:"message,omitempty"`
	Due       *time.Time      `json:"due,omitempty"`
	State     string          `json:"state"`
	Template  bool            `json:"template"`
	CreatedAt time.Time       `json:"createdAt"`
	Items     []string        `json:"items"`
	Parties   []exportedParty `json:"parties"`
}

type exportedParty struct {
	Email       string     `json:"email"`
	Name        string     `json:"name,omitempty"`
	OpenedAt    *time.Time `json:"openedAt,omitempty"`
	HandedInAt  *time.Time `json:"handedInAt,omitempty"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
}

// exportedRequestFrom returns a request, with or without its texts.
func exportedRequestFrom(d requestservice.Detail, contents bool) exportedRequest {
	out := exportedRequest{UID: d.UID.String(), Due: d.Due, State: string(d.State), Template: d.Template, CreatedAt: d.CreatedAt,
		Items: []string{}, Parties: []exportedParty{}}
	if contents {
		out.Title, out.Message = d.Title, d.Message
		for _, it := range d.Items {
			out.Items = append(out.Items, it.Name)
		}
	}
	for _, p := range d.Parties {
		out.Parties = append(out.Parties, exportedParty{p.Email, p.Name, p.OpenedAt, p.HandedInAt, p.CompletedAt})
	}
	return out
}

type exportedObject struct {
	Name          string `json:"name,omitempty"`
	ContentLength int64  `json:"contentLength"`
	SHA256        string `json:"sha256,omitempty"`
}

type exportedAction struct {
	At      time.Time         `json:"at"`
	Action  string            `json:"action"`
	Object  string            `json:"object,omitempty"`
	From    string            `json:"from,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}

// ExportPerson writes all stored data of a person as JSON, except file contents, which are downloaded through the API.
// Errors: identity.ErrPersonNotFound.
func (a *App) ExportPerson(ctx context.Context, w io.Writer, by audit.Actor, reference string) error {
	record, err := a.Identity.ExportPerson(ctx, reference)
	if err == nil {
		err = a.Identity.RecordExport(ctx, by, record.UID)
	}
	if err != nil {
		return err
	}
	return a.writeExport(ctx, w, record, true)
}

// exportZip writes the same as a zip: export.json, and the avatar as a file of its own. Without contents it leaves out subjects, texts,
// answers, and names and sums of files. It streams: an error leaves the zip without its end.
func (a *App) exportZip(ctx context.Context, w io.Writer, record identityservice.PersonRecord, contents bool) error {
	archive := zip.NewWriter(w)
	if record.Avatar != nil {
		file, err := archive.CreateHeader(&zip.FileHeader{Name: "avatar.jpg", Method: zip.Store, Modified: a.now()})
		if err != nil {
			return err
		}
		if _, err := file.Write(record.Avatar); err != nil {
			return err
		}
		record.Avatar = nil
	}
	file, err := archive.CreateHeader(&zip.FileHeader{Name: "export.json", Method: zip.Deflate, Modified: a.now()})
	if err != nil {
		return err
	}
	if err := a.writeExport(ctx, file, record, contents); err != nil {
		return err
	}
	return archive.Close()
}

func (a *App) writeExport(ctx context.Context, to io.Writer, record identityservice.PersonRecord, contents bool) error {
	out := exportedFrom(record)
	mailbox, err := a.Transfer.PersonMailbox(ctx, record.UID)
	switch {
	case err == nil:
		out.Mailbox = &exportedMailbox{
			Name: mailbox.Name, Email: mailbox.Email, VanityLink: mailbox.VanityLink, Slogan: mailbox.Slogan, Absent: mailbox.Absent,
			AbsenceMessage: mailbox.AbsenceMessage, Secure: mailbox.Secure, FieldsSchema: mailbox.FieldsSchema, UISchema: mailbox.UISchema,
			MIMETypeFilter: mailbox.MIMETypeFilter, MaxFiles: mailbox.MaxFiles, MaxFileSizeMB: mailbox.MaxFileSizeMB,
			VerifySender:  mailbox.VerifySender,
			PrefillLocked: mailbox.PrefillLocked, OwnNetworks: mailbox.OwnNetworks,
		}
		picture, err := a.Transfer.PersonPicture(ctx, record.UID)
		if err != nil && !errors.Is(err, transfer.ErrNotFound) {
			return err
		}
		out.Mailbox.Picture = picture.Image
	case !errors.Is(err, transfer.ErrNotFound):
		return err
	}
	webhooks, err := a.Webhooks.OfPerson(ctx, record.UID)
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		out.Webhooks = append(out.Webhooks, exportedWebhook{UID: w.UID.String(), URL: w.URL, Events: w.Events, Active: w.Active,
			CreatedAt: w.CreatedAt})
	}
	groups, err := a.Transfer.PersonGroups(ctx, record.UID)
	if err != nil {
		return err
	}
	for _, g := range groups {
		out.Groups = append(out.Groups, exportedGroup{UID: g.UID.String(), Name: g.Name})
	}
	w := bufio.NewWriter(to)
	if err := writeMembers(w, out); err != nil {
		return err
	}
	if err := writeArray(w, "transfers", a.Transfer.PersonTransfers(ctx, record.UID), func(t transferservice.SeenTransfer) exportedTransfer {
		return exportedTransferFrom(record.UID, t, contents)
	}); err != nil {
		return err
	}
	if err := writeArray(w, "requests", a.Requests.OfPerson(ctx, record.UID), func(d requestservice.Detail) exportedRequest {
		return exportedRequestFrom(d, contents)
	}); err != nil {
		return err
	}
	action := func(e audit.Record) exportedAction { return exportedActionFrom(record.UID, e) }
	if err := writeArray(w, "audit", a.Identity.PersonAudit(ctx, record.UID, audit.Filter{}), action); err != nil {
		return err
	}
	_, _ = w.WriteString("\n}\n")
	return w.Flush() // returns earlier write errors
}

// writeMembers begins an object with the members of v.
func writeMembers(w *bufio.Writer, v any) error {
	raw, err := indented(v, "")
	_, _ = w.Write(bytes.TrimSuffix(raw, []byte("\n}")))
	return err
}

// writeArray streams an array into the object that writeMembers began, because it may not fit into memory.
func writeArray[T, J any](w *bufio.Writer, member string, items iter.Seq2[T, error], from func(T) J) error {
	_, _ = w.WriteString(",\n  \"" + member + "\": [")
	before, end := "\n    ", "]"
	for item, err := range items {
		if err != nil {
			return err
		}
		raw, err := indented(from(item), "    ")
		if err != nil {
			return err
		}
		_, _ = w.WriteString(before)
		if _, err := w.Write(raw); err != nil {
			return err
		}
		before, end = ",\n    ", "\n  ]"
	}
	_, err := w.WriteString(end)
	return err
}

// indented returns v as indented JSON; lines after the first have a prefix.
func indented(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent(prefix, "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func exportedFrom(r identityservice.PersonRecord) exported {
	out := exported{
		UID: r.UID.String(), Name: r.Name, Locale: r.Locale, TimeZone: r.TimeZone, CreatedAt: r.CreatedAt, LastLoginAt: r.LastLoginAt,
		Emails: make([]exportedEmail, len(r.Emails)), Avatar: r.Avatar, Authenticators: []exportedAuthenticator{}, Sessions: []exportedSession{},
		KnownClients: []exportedClient{}, APITokens: []exportedAPIToken{}, Webhooks: []exportedWebhook{}, Groups: []exportedGroup{},
	}
	for i, e := range r.Emails {
		out.Emails[i] = exportedEmail(e)
	}
	if r.Organization != nil {
		out.Membership = &exportedMembership{Organization: r.Organization.UID.String(), Name: r.Organization.Name, Roles: r.Roles}
	}
	for _, a := range r.Authenticators {
		out.Authenticators = append(out.Authenticators, exportedAuthenticator{Type: a.Type, Name: a.Name, RegisteredAt: a.RegisteredAt,
			UpdatedAt: a.UpdatedAt})
	}
	for _, s := range r.Sessions {
		out.Sessions = append(out.Sessions, exportedSession{IssuedAt: s.IssuedAt, ExpiresAt: s.ExpiresAt, UserAgent: s.UserAgent, IP: s.IP})
	}
	for _, at := range r.KnownClients {
		out.KnownClients = append(out.KnownClients, exportedClient{LastLoginAt: at})
	}
	for _, t := range r.APITokens {
		token := exportedAPIToken{
			UID: t.UID.String(), Name: t.Name, Scopes: t.Scopes, Mailboxes: t.MailboxKeys, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
			LastUsedAt: t.LastUsedAt, LastIP: t.LastAddress,
		}
		if !t.Organization.IsZero() {
			token.Organization = t.Organization.String()
		}
		out.APITokens = append(out.APITokens, token)
	}
	return out
}

// exportedActionFrom returns an audit entry as person p may see it.
func exportedActionFrom(p id.Person, e audit.Record) exportedAction {
	action := exportedAction{At: e.At, Action: e.Action, Object: e.Object, Details: e.Details}
	if e.Person == p && e.Client.Address.IsValid() { // addresses of other people are private
		action.From = e.Client.Address.String()
	}
	return action
}

// exportedTransferFrom returns a transfer as person p sees it, with or without its contents.
func exportedTransferFrom(p id.Person, t transferservice.SeenTransfer, contents bool) exportedTransfer {
	if !contents {
		t.Subject, t.Message, t.Fields = "", "", nil
	}
	out := exportedTransfer{
		UID: t.UID.String(), Sent: t.Sender.Person == p, Type: string(t.Kind), State: string(t.State), Locked: t.Locked, Subject: t.Subject,
		Message: t.Message, Fields: t.Fields,
		SenderName: t.Sender.Name, SenderEmail: t.Sender.Email, Recipients: []string{}, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
		Objects: make([]exportedObject, len(t.Objects)),
	}
	for _, d := range t.Recipients {
		out.Recipients = append(out.Recipients, d.Email)
	}
	for i, o := range t.Objects {
		out.Objects[i] = exportedObject{ContentLength: o.Held}
		if contents {
			out.Objects[i].Name, out.Objects[i].SHA256 = o.Name, hex.EncodeToString(o.SHA256)
		}
	}
	return out
}
