// The command consign selftest: sends and receives a file as two temporary people, compares the bytes, and removes everything again.

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/transferapi"
	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/transfer"
)

const (
	// selftestAddress is the only one, so that one self-test runs at a time and the next one finds what a killed one has left.
	selftestAddress  = "selftest@" + mail.SelfTestDomain
	selftestStale    = 10 * time.Minute // a person of this age is left over
	selftestTime     = 5 * time.Minute  // for all steps
	selftestRemoval  = time.Minute
	selftestPatience = 15 * time.Second // for a request that fails
	selftestAgain    = time.Second      // while a file is held for its inspection
)

// selftestStep is what one step of a self-test took, in the JSON form.
type selftestStep struct {
	Name         string `json:"name"`
	Milliseconds int64  `json:"milliseconds"`
	Error        string `json:"error,omitempty"`
}

// selftest is one run through the main job.
type selftest struct {
	a       *app.App
	env     environment
	public  string // URL
	content []byte
	steps   []selftestStep
	print   func(selftestStep)

	person    identity.Person
	password  string
	mailbox   transfer.PublicMailbox
	stranger  *client.Client
	recipient *client.Client
	upload    *client.Upload
	transfer  string
	object    client.Object
}

// selftestCommand does the main job through the public URL and removes everything again.
func selftestCommand(ctx context.Context, env environment, args []string) error {
	f := flags("selftest")
	asJSON := f.Bool("json", false, "")
	megabytes := f.Int("mb", 5, "")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if *megabytes < 1 || *megabytes > 200 {
		return usageError("consign selftest: --mb must be between 1 and 200")
	}
	cfg, err := config.Parse(env.environ)
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		t := &selftest{a: a, env: env, public: cfg.PublicURL.String(), content: make([]byte, *megabytes*1_000_000), print: func(selftestStep) {}}
		rand.Read(t.content) // never fails
		if !*asJSON {
			t.print = func(s selftestStep) {
				outcome := fmt.Sprintf("%d ms", s.Milliseconds)
				if s.Error != "" {
					outcome = "FAILED: " + s.Error
				}
				_, _ = fmt.Fprintf(env.stdout, "%-24s %s\n", s.Name, outcome)
			}
		}
		err := t.run(ctx)
		if *asJSON {
			e := json.NewEncoder(env.stdout)
			e.SetIndent("", "  ")
			err = errors.Join(err, e.Encode(map[string]any{"ok": err == nil, "url": t.public, "bytes": len(t.content), "steps": t.steps}))
		}
		return err
	})
}

// run does all steps. What a failed or interrupted one has made is removed, too.
func (t *selftest) run(ctx context.Context) (err error) {
	begun, cancel := context.WithTimeout(ctx, selftestTime)
	defer cancel()
	defer func() {
		if t.person.UID.IsZero() {
			return
		}
		removal, stop := context.WithTimeout(context.WithoutCancel(ctx), selftestRemoval)
		defer stop()
		err = errors.Join(err, t.step(removal, "remove everything", func(ctx context.Context) error { return t.remove(ctx, err) }))
	}()
	for _, s := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"create a person", t.createPerson},
		{"create a mailbox", t.createMailbox},
		{"reach the public URL", t.reach},
		{"reserve as a stranger", t.reserve},
		{"upload", func(ctx context.Context) error { return t.upload.Upload(ctx, client.UploadOptions{}) }},
		{"confirm", t.confirm},
		{"sign in", func(ctx context.Context) error { return t.recipient.Login(ctx, selftestAddress, t.password, nil) }},
		{"find it in the inbox", t.find},
		{"download and compare", t.download},
	} {
		if err := t.step(begun, s.name, s.do); err != nil {
			return err
		}
	}
	return nil
}

// step runs and reports one step.
func (t *selftest) step(ctx context.Context, name string, do func(context.Context) error) error {
	began := time.Now()
	err := do(ctx)
	if err == nil {
		err = context.Cause(ctx)
	}
	s := selftestStep{Name: name, Milliseconds: time.Since(began).Milliseconds()}
	if err != nil {
		s.Error = err.Error()
		err = fmt.Errorf("self-test, %s: %w", name, err)
	}
	t.steps = append(t.steps, s)
	t.print(s)
	return err
}

func (t *selftest) createPerson(ctx context.Context) (err error) {
	t.password = rand.Text()
	account := service.NewAccount{Address: selftestAddress, Password: t.password, Name: "Self-test"}
	t.person, err = t.a.Identity.CreatePerson(ctx, t.env.actor(), account, true)
	if !errors.Is(err, identity.ErrAddressInUse) {
		return err
	}
	left, err := t.a.Identity.ShowPerson(ctx, selftestAddress)
	if err != nil {
		return err
	}
	if time.Since(left.CreatedAt) < selftestStale {
		return fmt.Errorf("another self-test runs, or one was killed less than %s ago", selftestStale)
	}
	if err := t.erase(ctx, left.UID); err != nil {
		return fmt.Errorf("remove what a killed self-test has left: %w", err)
	}
	t.person, err = t.a.Identity.CreatePerson(ctx, t.env.actor(), account, true)
	return err
}

func (t *selftest) createMailbox(ctx context.Context) (err error) {
	t.mailbox, _, err = t.a.Transfer.SetMailbox(ctx, t.env.actor(), transfer.Mailbox{Person: t.person.UID})
	return err
}

func (t *selftest) reach(ctx context.Context) (err error) {
	options := []client.Option{client.WithUserAgent("consign-selftest/" + version), client.WithPatience(selftestPatience)}
	if t.stranger, err = client.New(ctx, t.public, options...); err != nil {
		return err
	}
	t.recipient, err = client.New(ctx, t.public, options...)
	return err
}

func (t *selftest) reserve(ctx context.Context) (err error) {
	t.upload, err = t.stranger.Reserve(ctx, client.Delivery{
		Mailbox: t.person.UID.String(), SenderName: "Self-test", SenderEmail: "stranger@" + mail.SelfTestDomain,
		Subject: "Self-test of this installation",
	})
	if err != nil {
		return err
	}
	return t.upload.Attach(ctx, client.File{Name: "selftest.bin", Size: int64(len(t.content)), Open: func() (client.Content, error) {
		return nopCloser{bytes.NewReader(t.content)}, nil
	}})
}

func (t *selftest) confirm(ctx context.Context) error {
	done, err := t.upload.Confirm(ctx)
	if err == nil {
		t.transfer = done.UID.String()
	}
	return err
}

// find looks for the transfer in the recipient's inbox.
func (t *selftest) find(ctx context.Context) error {
	location := []transferapi.ListTransfersParamsLocation{transferapi.Received}
	page, err := t.recipient.Transfer.ListTransfers(ctx, &transferapi.ListTransfersParams{Location: &location})
	if err != nil {
		return err
	}
	if len(page.Transfers) != 1 || page.Transfers[0].UID.String() != t.transfer {
		return errors.New("the inbox does not have exactly this transfer")
	}
	objects, err := t.recipient.Objects(ctx, t.transfer)
	if err == nil && len(objects) != 1 {
		err = fmt.Errorf("the transfer has %d files instead of one", len(objects))
	}
	if err == nil {
		t.object = objects[0]
	}
	return err
}

// download gets the file, as soon as the malware scanner lets it, and compares it with what was sent.
func (t *selftest) download(ctx context.Context) error {
	for {
		var got memory
		err := t.recipient.Download(ctx, t.object, &got, client.DownloadOptions{})
		if err == nil {
			sent, received := sha256.Sum256(t.content), sha256.Sum256(got.bytes)
			if sent != received || t.object.SHA256 != hex.EncodeToString(sent[:]) {
				return errors.New("the SHA-256 is not that of the sent file")
			}
			return nil
		}
		if !t.a.Transfer.Inspects() || !errors.As(err, new(*client.Error)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(selftestAgain):
		}
	}
}

// remove removes everything that the self-test has made, and writes the audit.
func (t *selftest) remove(ctx context.Context, failed error) error {
	result := "passed"
	if failed != nil {
		result = "failed"
	}
	return errors.Join(t.erase(ctx, t.person.UID), t.a.DB.InTx(ctx, func(tx database.Tx) error {
		return audit.Append(ctx, tx, time.Now(), audit.Entry{
			Actor: t.env.actor(), Action: "installation.selftest", Object: t.person.UID.String(), Target: t.person.UID,
			Details: map[string]string{"result": result},
		})
	}))
}

// erase removes a person with mailbox, open uploads and transfers.
func (t *selftest) erase(ctx context.Context, p id.Person) error {
	var transfers []id.Transfer
	for seen, err := range t.a.Transfer.PersonTransfers(ctx, p) {
		if err != nil && !errors.Is(err, transfer.ErrNotFound) {
			return err
		}
		if err == nil {
			transfers = append(transfers, seen.UID)
		}
	}
	for _, uid := range transfers {
		if err := t.a.Transfer.RemoveTransfer(ctx, t.env.actor(), uid); err != nil {
			return err
		}
	}
	return errors.Join(t.a.Identity.DeletePerson(ctx, t.env.actor(), p.String()), t.a.Transfer.DeletePersonData(ctx, p))
}

// nopCloser is the content of a file in memory.
type nopCloser struct{ io.ReaderAt }

func (nopCloser) Close() error { return nil }

// memory is a download into memory.
type memory struct {
	bytes []byte
	at    int64
}

// Read implements client.Target.
func (m *memory) Read(p []byte) (int, error) {
	if m.at >= int64(len(m.bytes)) {
		return 0, io.EOF
	}
	n := copy(p, m.bytes[m.at:])
	m.at += int64(n)
	return n, nil
}

// Write implements client.Target: it appends, as downloads do.
func (m *memory) Write(p []byte) (int, error) {
	m.bytes = append(m.bytes[:m.at], p...)
	m.at += int64(len(p))
	return len(p), nil
}

// Seek implements client.Target.
func (m *memory) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += m.at
	case io.SeekEnd:
		offset += int64(len(m.bytes))
	}
	if offset < 0 || offset > int64(len(m.bytes)) {
		return m.at, errors.New("seek outside of the file")
	}
	m.at = offset
	return offset, nil
}

// Truncate implements client.Target.
func (m *memory) Truncate(size int64) error {
	m.bytes = m.bytes[:min(size, int64(len(m.bytes)))]
	m.at = min(m.at, size)
	return nil
}
