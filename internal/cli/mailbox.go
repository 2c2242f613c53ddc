package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/transferapi"
)

// checkMailbox checks before an upload what the mailbox would refuse after it.
func (p *Program) checkMailbox(ctx context.Context, c *client.Client, d client.Delivery, files []source) (*transferapi.Mailbox, error) {
	box, err := c.Transfer.GetPublicMailbox(ctx, d.Mailbox)
	if client.HasStatus(err, 404) {
		return nil, fmt.Errorf("there is no mailbox %q at this server: %w", d.Mailbox, errNotFound)
	}
	if err != nil {
		return nil, err
	}
	if box.Available != nil && !*box.Available && box.UnavailableReason != nil {
		return nil, fmt.Errorf("the mailbox takes no files now: %s", *box.UnavailableReason)
	}
	if len(files) > box.MaxFiles {
		return nil, fmt.Errorf("the mailbox takes up to %d files at once, not %d", box.MaxFiles, len(files))
	}
	for _, f := range files {
		if f.Size > int64(box.MaxFileSizeMb)*1_000_000 {
			return nil, fmt.Errorf("%s is too large for the mailbox: it takes files up to %d MB", f.Path, box.MaxFileSizeMb)
		}
	}
	return box, answered(box.FieldsSchema, d.Fields)
}

// answered checks that the questions of a mailbox have answers.
func answered(schema *transferapi.FieldsSchema, answers map[string]string) error {
	if schema == nil {
		if len(answers) > 0 {
			return usageError("the mailbox asks no questions: leave out --field")
		}
		return nil
	}
	var wrong []string
	for _, name := range schema.Required {
		if answers[name] == "" {
			wrong = append(wrong, "--field "+name+"=… is missing")
		}
	}
	for name := range answers {
		if _, ok := schema.Properties[name]; !ok {
			wrong = append(wrong, "--field "+name+": the mailbox does not ask this")
		}
	}
	if wrong == nil {
		return nil
	}
	text := strings.Join(wrong, "\n") + "\nThe mailbox asks:"
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		text += "\n  " + name
		if property, ok := schema.Properties[name].(map[string]any); ok {
			if title, ok := property["title"].(string); ok {
				text += "  " + title
			}
			if choices, ok := property["enum"].([]any); ok {
				text += fmt.Sprintf("  (one of %v)", choices)
			}
		}
		if slices.Contains(schema.Required, name) {
			text += "  (required)"
		}
	}
	return usageError(text)
}

// verifySender proves the sender's address with a code that the server mails.
func (p *Program) verifySender(ctx context.Context, c *client.Client, u *client.Upload, address, code string) error {
	if code == "" {
		if err := c.Transfer.SendSenderCode(ctx, u.UID, u.Authorize); err != nil {
			return err
		}
		typed, err := p.ask("The mailbox wants to know that "+address+" is yours. Enter the code that was mailed there:", false,
			"the mailbox has mailed a code to "+address+": run the same command again with --code CODE")
		if err != nil {
			return err
		}
		code = typed
	}
	return c.Transfer.VerifySender(ctx, u.UID, transferapi.VerifySenderJSONRequestBody{Code: code}, u.Authorize)
}
