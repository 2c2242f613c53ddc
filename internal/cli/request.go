// The commands request and request create: asking people for documents.

package cli

import (
	"context"
	"fmt"
	"io"
	"net/mail"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/transferapi"
)

func (p *Program) requestCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "request", Short: "Ask people for documents",
		Long: "Ask people for documents, and take what they hand in. It needs a login, or an API token with the scope requests:manage.",
		RunE: func(*cobra.Command, []string) error {
			return usageError("a command is missing; " + p.Name + " request --help lists them")
		},
		Args: args(cobra.NoArgs),
	}
	c.AddCommand(p.requestCreateCommand(), p.requestListCommand(), p.requestRemindCommand(), p.requestFetchCommand())
	return c
}

type requestFlags struct {
	title, message, due, csv, from string
	items, optional, to            []string
	refuse, public                 bool
}

func (p *Program) requestCreateCommand() *cobra.Command {
	var f requestFlags
	c := &cobra.Command{
		Use: "create [flags]", Short: "Make a request, and mail its people a link each",
		Long: `Make a request. Each person gets a mail with a link of their own, and reminders before the due time. The command prints the uid of the
request, and the link of each person.`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return p.createRequest(c.Context(), f) },
	}
	c.Flags().StringVar(&f.title, "title", "", "what it is about")
	c.Flags().StringVar(&f.message, "message", "", "a text for the people")
	c.Flags().StringArrayVar(&f.items, "item", nil, "a document that everybody has to hand in; repeat it")
	c.Flags().StringArrayVar(&f.optional, "optional", nil, "a document that people may hand in; repeat it")
	c.Flags().StringVar(&f.due, "due", "", "until when, in local time: 2026-12-04, which is its end, or '2026-12-04 17:00'")
	c.Flags().BoolVar(&f.refuse, "refuse-late", false, "take nothing after the due time; otherwise it is marked")
	c.Flags().StringArrayVar(&f.to, "to", nil, "a person: bob@example.org or 'Bob Builder <bob@example.org>'; repeat it")
	c.Flags().StringVar(&f.csv, "csv", "", "a file with a row of address and name for each person; - for stdin")
	c.Flags().BoolVar(&f.public, "public", false, "make a link, too, with which anybody can hand in")
	c.Flags().StringVar(&f.from, "from", "", "uid of a request or template whose title, message and documents are used")
	return p.online(c, shortPatience)
}

func (p *Program) createRequest(ctx context.Context, f requestFlags) error {
	body := transferapi.CreateRequestJSONRequestBody{Title: some(f.title), Message: some(f.message)}
	due, err := dueTime(f.due)
	if err != nil {
		return err
	}
	body.Due = due
	if f.refuse {
		refuse := transferapi.LateRule("refuse")
		body.Late = &refuse
	}
	if f.public {
		body.PublicLink = &f.public
	}
	people, err := peopleOf(f.to)
	if err != nil {
		return err
	}
	table, err := p.readTable(f.csv)
	if err != nil {
		return err
	}
	c, _, err := p.signedIn(ctx)
	if err != nil {
		return err
	}
	if err := fillRequest(ctx, c, &body, f); err != nil {
		return err
	}
	if len(people) > 0 {
		body.Parties = &people
	}
	made, err := c.Transfer.CreateRequest(ctx, body)
	if err == nil && table != "" {
		uid := made.UID.String()
		if made, err = c.Transfer.AddParties(ctx, uid, transferapi.AddPartiesJSONRequestBody{Csv: &table}); err != nil {
			err = fmt.Errorf("request %s is made, but the people of --csv are not asked: %w", uid, err)
		}
	}
	if err != nil {
		return err
	}
	return p.showRequest(*made)
}

// fillRequest adds the documents, and what comes of the request that --from names.
func fillRequest(ctx context.Context, c *client.Client, body *transferapi.CreateRequestJSONRequestBody, f requestFlags) error {
	if f.from != "" {
		uid, err := requestUID(f.from)
		if err != nil {
			return err
		}
		of, err := c.Transfer.GetRequest(ctx, uid)
		if err != nil {
			return err
		}
		if body.Title == nil {
			body.Title = &of.Title
		}
		if body.Message == nil {
			body.Message = of.Message
		}
		for _, it := range of.Items {
			body.Items = append(body.Items, transferapi.ItemRequest{Name: it.Name, Hint: it.Hint, MimeTypes: &it.MimeTypes, Required: &it.Required,
				MaxFiles: &it.MaxFiles, MaxFileSizeMb: &it.MaxFileSizeMb, Example: it.Example})
		}
	}
	for _, name := range f.items {
		body.Items = append(body.Items, transferapi.ItemRequest{Name: name})
	}
	no := false
	for _, name := range f.optional {
		body.Items = append(body.Items, transferapi.ItemRequest{Name: name, Required: &no})
	}
	if body.Title == nil || len(body.Items) == 0 {
		return usageError("--title and an --item are needed, or --from")
	}
	return nil
}

// some returns a text that is given.
func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// dueTime reads a due time in local time. A day is its last minute.
func dueTime(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if at, err := time.ParseInLocation("2006-01-02", text, time.Local); err == nil {
		at = at.Add(24*time.Hour - time.Minute)
		return &at, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return &at, nil
		}
	}
	return nil, usageError(fmt.Sprintf("--due: %q is not a time such as 2026-12-04 or '2026-12-04 17:00'", text))
}

func peopleOf(values []string) ([]transferapi.PartyRequest, error) {
	var people []transferapi.PartyRequest
	for _, v := range values {
		a, err := mail.ParseAddress(v)
		if err != nil {
			return nil, usageError(fmt.Sprintf("--to: %q is not an email address", v))
		}
		people = append(people, transferapi.PartyRequest{Email: a.Address, Name: some(a.Name)})
	}
	return people, nil
}

// readTable returns the content of a file, or of stdin for "-".
func (p *Program) readTable(name string) (string, error) {
	const limit = 1 << 20
	var data []byte
	var err error
	switch name {
	case "":
		return "", nil
	case "-":
		data, err = io.ReadAll(io.LimitReader(p.Stdin, limit+1))
	default:
		data, err = os.ReadFile(name)
	}
	if err == nil && len(data) > limit {
		err = localError("--csv: the table has more than %d bytes", limit)
	}
	return string(data), err
}

func requestUID(text string) (string, error) {
	uid := strings.ToLower(text)
	if !uidForm.MatchString(uid) {
		return "", usageError(fmt.Sprintf("%q is not the uid of a request, as request list prints it", text))
	}
	return uid, nil
}

// showRequest prints a request and the links of its people.
func (p *Program) showRequest(r transferapi.DocumentRequest) error {
	if p.json {
		return p.emit(r)
	}
	rows := [][]string{{"request", r.UID.String()}}
	if r.Link != nil {
		rows = append(rows, []string{"public", *r.Link})
	}
	for _, one := range r.Parties {
		rows = append(rows, []string{one.Email, text(one.Link)})
	}
	return p.table(rows)
}
