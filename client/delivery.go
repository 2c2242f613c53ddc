// A delivery from the reservation to the confirm: each step is repeated safely when its answer is lost.

package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/client/transferapi"
)

// Delivery says to whom files go. With Mailbox they go to the owner of a mailbox, from anybody. With Request they go to the person who
// asks for documents, and no other member counts. Otherwise the client must be signed in: they go to Recipients, or with none to everybody
// who has the link.
type Delivery struct {
	Mailbox                 string // vanity link or uid of its owner
	Request                 string // key of the link of a party of a request; each File names its Item
	SenderName, SenderEmail string // of a delivery to a mailbox
	Recipients              []transferapi.Recipient

	Subject, Message string
	Fields           map[string]string      // answers to the questions of a mailbox
	TTL              int                    // days; 0: the organization's default
	Password         string                 // recipients need it; not for a mailbox
	Protection       transferapi.Protection // default: the organization's, or password with a Password
}

// Upload is an open reservation: files are attached to it, uploaded and confirmed. Its exported members are what an interrupted
// program stores to continue with [Client.Continue], within 48 hours. Token is a secret.
type Upload struct {
	UID     string         `json:"uid"`
	Token   string         `json:"token"`
	Objects []UploadObject `json:"objects"`
	Prefix  string         `json:"prefix,omitempty"` // of the ClientIDs, where other programs attach files, too

	c     *Client
	files []File
}

// UploadObject is a file of an upload as the server knows it.
type UploadObject struct {
	ClientID string `json:"clientId"`
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	Complete bool   `json:"complete"`
	SHA256   string `json:"sha256,omitempty"` // once complete

	// Sent bytes of the file had the hash SentSHA256 when they were sent. A program that stores them learns early that the file has
	// changed since; without them it learns so at the end.
	Sent       int64  `json:"sent,omitempty"`
	SentSHA256 string `json:"sentSha256,omitempty"`
}

// Authorize authorizes a call with the reservation's token, for operations of the generated client.
func (u *Upload) Authorize(ctx context.Context, r *http.Request) error {
	return bearer(u.Token)(ctx, r)
}

// Reserve begins a delivery. It is repeated with an Idempotency-Key when its answer is lost, and so makes one reservation. Errors: *Error.
func (c *Client) Reserve(ctx context.Context, d Delivery) (*Upload, error) {
	reserve := c.reserve
	switch {
	case d.Request != "":
		return c.openRequest(ctx, d.Request)
	case d.Mailbox != "":
		reserve = c.reserveMailbox
	}
	u, err := reserve(ctx, d, idempotencyKey(uuid.NewString()))
	if HasCode(err, codeTooManyKeys, codeAnswerLost) { // a reservation whose answer is lost stays empty and expires
		return reserve(ctx, d)
	}
	return u, err
}

// idempotencyKey lets a creating call be repeated.
func idempotencyKey(key string) transferapi.Editor {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set(idempotencyHeader, key)
		return nil
	}
}

// reserve reserves a transfer to recipients or a link.
func (c *Client) reserve(ctx context.Context, d Delivery, editors ...transferapi.Editor) (*Upload, error) {
	body := transferapi.ReservationPatch{Subject: some(d.Subject), Message: some(d.Message), TTL: some(d.TTL), Password: some(d.Password)}
	if d.Password != "" {
		d.Protection = "password"
	}
	body.Protection = some(d.Protection)
	if len(d.Recipients) > 0 {
		body.Recipients = &d.Recipients
	}
	var resp http.Response
	r, err := c.Transfer.CreateReservation(ctx, body, append(editors, Answered(&resp))...)
	if err != nil {
		return nil, err
	}
	return c.reserved(r.UID, resp.Header.Get("Authorization"))
}

// reserveMailbox reserves a transfer to a mailbox and answers its questions.
func (c *Client) reserveMailbox(ctx context.Context, d Delivery, editors ...transferapi.Editor) (*Upload, error) {
	var resp http.Response
	r, err := c.Transfer.ReserveMailbox(ctx, d.Mailbox, nil, transferapi.Introduction{
		Subject: some(d.Subject), Message: some(d.Message), AnonSender: some(d.SenderName), AnonEmail: some(d.SenderEmail),
	}, append(editors, Answered(&resp))...)
	if err != nil {
		return nil, err
	}
	u, err := c.reserved(r.UID, resp.Header.Get("Authorization"))
	if err != nil || len(d.Fields) == 0 {
		return u, err
	}
	fields := map[string]*string{}
	for name, value := range d.Fields {
		fields[name] = &value
	}
	_, err = c.Transfer.PatchReservation(ctx, u.UID, transferapi.ReservationPatch{Fields: &fields}, bearer(u.Token))
	return u, err
}

// openRequest opens the reservation of a party, which is the same until it is confirmed. It may have files of other programs.
func (c *Client) openRequest(ctx context.Context, key string) (u *Upload, err error) {
	var resp http.Response
	err = again(ctx, c, func() error {
		r, err := c.Transfer.OpenPublicRequest(ctx, key, Answered(&resp))
		if err == nil {
			u, err = c.reserved(r.Reservation, resp.Header.Get("Authorization"))
		}
		return err
	})
	if err == nil {
		u.Prefix = uuid.NewString() + "-"
	}
	return u, err
}

func (c *Client) reserved(uid uuid.UUID, authorization string) (*Upload, error) {
	token, ok := strings.CutPrefix(authorization, "Bearer ")
	if !ok {
		return nil, fmt.Errorf("the server made a reservation without its token")
	}
	return &Upload{UID: uid.String(), Token: token, c: c}, nil
}

// Continue continues an upload that an earlier program has stored. files are those of its Objects, in their order. An upload that
// was stored before Attach returned has no objects and no files: call Attach.
func (c *Client) Continue(u *Upload, files ...File) error {
	if len(files) != len(u.Objects) {
		return fmt.Errorf("the upload has %d files, not %d", len(u.Objects), len(files))
	}
	for i, f := range files {
		if f.Size != u.Objects[i].Size {
			return fmt.Errorf("%s: %w: it had %d bytes and has %d", f.Name, ErrChanged, u.Objects[i].Size, f.Size)
		}
	}
	u.c, u.files = c, files
	return nil
}

// attachBatch is how many objects a call may attach.
const attachBatch = 1000

// Attach adds files to the upload. It can be repeated after an error. Errors: *Error, 403035 too many, 403036 too large, 403040 of a
// type that the mailbox does not accept.
func (u *Upload) Attach(ctx context.Context, files ...File) error {
	var objects []UploadObject
	items := map[uuid.UUID][]transferapi.ObjectRequest{}
	for i, f := range files {
		o := UploadObject{ClientID: fmt.Sprint(cmp.Or(u.Prefix, "f"), len(u.Objects)+i), Name: f.Name, Size: f.Size}
		objects = append(objects, o)
		items[f.Item] = append(items[f.Item], transferapi.ObjectRequest{ClientID: o.ClientID, Name: o.Name, IntendedSize: o.Size})
	}
	for item, list := range items {
		for batch := range slices.Chunk(list, attachBatch) {
			if err := u.attach(ctx, item, batch); err != nil {
				return err
			}
		}
	}
	u.Objects, u.files = append(u.Objects, objects...), append(u.files, files...)
	return nil
}

// attach attaches a batch. It can be repeated: the server recognizes objects that it has.
func (u *Upload) attach(ctx context.Context, item uuid.UUID, batch []transferapi.ObjectRequest) error {
	var body transferapi.AttachRequest
	if err := body.FromObjectListRequest(transferapi.ObjectListRequest{Objects: batch}); err != nil {
		return err
	}
	return again(ctx, u.c, func() error {
		_, err := u.c.Transfer.AttachObjects(ctx, u.UID, &transferapi.AttachObjectsParams{Item: some(item)}, body, bearer(u.Token))
		return err
	})
}

// codeConfirmed is the answer for a reservation that is confirmed.
const codeConfirmed = 409010

// Confirm delivers the transfer. Of a request it hands in what is uploaded, also without files of all required items. When the answer of
// an earlier confirm was lost, the result has only its UID.
func (u *Upload) Confirm(ctx context.Context) (*transferapi.Transfer, error) {
	var transfer *transferapi.Transfer
	err := again(ctx, u.c, func() error { // a second confirm is recognized
		var err error
		transfer, err = u.c.Transfer.ConfirmReservation(ctx, u.UID, bearer(u.Token))
		return err
	})
	var refused *Error
	if errors.As(err, &refused) && refused.Code == codeConfirmed {
		uid, err := uuid.Parse(refused.Transfer)
		return &transferapi.Transfer{UID: uid}, err
	}
	return transfer, err
}

// Cancel ends the upload; the server deletes what it holds.
func (u *Upload) Cancel(ctx context.Context) error {
	return u.c.Transfer.CancelReservation(ctx, u.UID, bearer(u.Token))
}

// some returns a pointer to v, or nil for the zero value.
func some[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}
