// The commands list, show, extend and revoke.

package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/transferapi"
)

const shortPatience = 30 * time.Second

func (p *Program) listCommand() *cobra.Command {
	var sent, received bool
	var search, filter string
	var limit int
	c := &cobra.Command{
		Use: "list [flags]", Short: "List received and sent transfers, newest first",
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			params := &transferapi.ListTransfersParams{}
			if sent != received {
				location := []transferapi.ListTransfersParamsLocation{"sent"}
				if received {
					location[0] = "received"
				}
				params.Location = &location
			}
			if search != "" {
				params.Search = &search
			}
			if filter != "" {
				f := transferapi.ListTransfersParamsFilter(filter)
				params.Filter = &f
			}
			return p.list(c.Context(), params, limit)
		},
	}
	c.Flags().BoolVar(&sent, "sent", false, "only sent ones")
	c.Flags().BoolVar(&received, "received", false, "only received ones")
	c.Flags().StringVar(&search, "search", "", "text in subject, names or addresses")
	c.Flags().StringVar(&filter, "filter", "", "new, open, expired or pinned")
	c.Flags().IntVar(&limit, "limit", 50, "most transfers to list; 0 for all")
	_ = c.RegisterFlagCompletionFunc("filter", cobra.FixedCompletions([]string{"new", "open", "expired", "pinned"},
		cobra.ShellCompDirectiveNoFileComp))
	return p.online(c, shortPatience)
}

func (p *Program) list(ctx context.Context, params *transferapi.ListTransfersParams, limit int) error {
	c, _, err := p.signedIn(ctx)
	if err != nil {
		return err
	}
	head := []string{"TRANSFER", "DATE", "STATE", "FROM", "TO", "FILES", "SIZE", "SUBJECT"}
	return listPages(p, limit, head, func(page int, after *string) ([]transferapi.Transfer, *string, error) {
		params.Limit, params.After = &page, after
		list, err := c.Transfer.ListTransfers(ctx, params)
		if err != nil {
			return nil, nil, err
		}
		return list.Transfers, list.Next, nil
	}, func(t transferapi.Transfer) []string {
		return []string{t.UID.String(), t.CreatedAt.Local().Format("2006-01-02 15:04"), string(t.State), t.Sender.Email, to(t),
			count(t.ObjectCount), total(t.TotalBytes), text(t.Subject)}
	})
}

// listPages prints a list that is read page by page, as a table with a head or as lines of JSON. limit: the most entries; 0: all.
func listPages[T any](p *Program, limit int, head []string, read func(page int, after *string) ([]T, *string, error),
	row func(T) []string) error {
	rows := [][]string{head}
	var after *string
	for listed := 0; limit == 0 || listed < limit; {
		page := 200
		if limit > 0 {
			page = min(page, limit-listed)
		}
		entries, next, err := read(page, after)
		if err != nil {
			return err
		}
		listed += len(entries)
		for _, e := range entries {
			if !p.json {
				rows = append(rows, row(e))
			} else if err := p.emit(e); err != nil {
				return err
			}
		}
		if after = next; after == nil {
			break
		}
	}
	if p.json {
		return nil
	}
	return p.table(rows)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func count(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

func total(n *int64) string {
	if n == nil {
		return "-"
	}
	return size(*n)
}

// to returns the first recipient of a transfer and the number of others.
func to(t transferapi.Transfer) string {
	switch len(t.Recipients) {
	case 0:
		return "(link)"
	case 1:
		return string(t.Recipients[0].Email)
	}
	return fmt.Sprintf("%s +%d", t.Recipients[0].Email, len(t.Recipients)-1)
}

func (p *Program) showCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "show [flags] TRANSFER", Short: "Show a transfer and its files",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			uid, err := transferUID(given[0])
			if err != nil {
				return err
			}
			client, _, err := p.signedIn(c.Context())
			if err != nil {
				return err
			}
			t, err := client.Transfer.GetTransfer(c.Context(), uid)
			if err != nil {
				return err
			}
			return p.showTransfer(*t)
		},
	}
	return p.online(c, shortPatience)
}

func (p *Program) showTransfer(t transferapi.Transfer) error {
	if p.json {
		return p.emit(t)
	}
	local := func(at *time.Time) string {
		if at == nil {
			return ""
		}
		return at.Local().Format("2006-01-02 15:04:05 MST")
	}
	rows := [][]string{{"transfer", t.UID.String()}, {"state", string(t.State)}, {"subject", text(t.Subject)},
		{"from", text(t.Sender.Name) + " <" + t.Sender.Email + ">"}}
	for _, r := range t.Recipients {
		rows = append(rows, []string{"to", string(r.Email) + downloaded(r, local)})
	}
	rows = append(rows, []string{"protection", string(t.Protection)}, []string{"created", local(&t.CreatedAt)},
		[]string{"expires", local(&t.ExpiresAt)},
		[]string{"link", text(t.Link)}, []string{"message", text(t.Message)})
	if t.Answers != nil {
		for _, a := range *t.Answers {
			rows = append(rows, []string{a.Title, a.Value})
		}
	}
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
	if err := p.table(rows); err != nil {
		return err
	}
	files := [][]string{{"SIZE", "SHA-256", "NAME"}}
	for _, o := range client.ObjectsOf(t) {
		files = append(files, []string{size(o.Size), o.SHA256, o.Name})
	}
	fmt.Fprintln(p.Stdout)
	return p.table(files)
}

func downloaded(r transferapi.Receiver, local func(*time.Time) string) string {
	if r.DownloadedAt == nil {
		return ""
	}
	return ", downloaded " + local(r.DownloadedAt)
}

var uidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func transferUID(text string) (string, error) {
	uid := strings.ToLower(text)
	if !uidForm.MatchString(uid) {
		return "", usageError(fmt.Sprintf("%q is not the uid of a transfer, as list prints it", text))
	}
	return uid, nil
}

func (p *Program) extendCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "extend [flags] TRANSFER DAYS", Short: "Let a sent transfer expire in so many days from now",
		Args: args(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, given []string) error {
			uid, err := transferUID(given[0])
			if err != nil {
				return err
			}
			days, err := strconv.Atoi(given[1])
			if err != nil || days < 1 || days > 3650 {
				return usageError(fmt.Sprintf("%q is not a number of days", given[1]))
			}
			client, _, err := p.signedIn(c.Context())
			if err != nil {
				return err
			}
			until := time.Now().Add(time.Duration(days) * 24 * time.Hour)
			t, err := client.Transfer.PatchTransfer(c.Context(), uid, transferapi.TransferPatch{ExpiresAt: &until})
			if err != nil {
				return err
			}
			if p.json {
				return p.emit(t)
			}
			_, err = fmt.Fprintln(p.Stdout, "expires:", t.ExpiresAt.Local().Format("2006-01-02 15:04"))
			return err
		},
	}
	return p.online(c, shortPatience)
}

func (p *Program) revokeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke [flags] TRANSFER…", Short: "Revoke sent transfers, or remove received ones from the inbox",
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			client, _, err := p.signedIn(c.Context())
			if err != nil {
				return err
			}
			var failures []error
			for _, one := range given {
				uid, err := transferUID(one)
				if err == nil {
					err = client.Transfer.DeleteTransfer(c.Context(), uid)
				}
				if err != nil {
					failures = append(failures, fmt.Errorf("%s: %w", one, err))
				} else if !p.json {
					fmt.Fprintln(p.Stdout, "revoked", uid)
				}
			}
			return errors.Join(failures...)
		},
	}
	return p.online(c, shortPatience)
}
