// The commands request list, remind and fetch: how far requests are, and what was handed in.

package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/transferapi"
)

func (p *Program) requestListCommand() *cobra.Command {
	var state string
	var limit int
	c := &cobra.Command{
		Use: "list [flags]", Short: "List requests, newest first",
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return p.listRequests(c.Context(), state, limit) },
	}
	c.Flags().StringVar(&state, "state", "open", "open, closed or template")
	c.Flags().IntVar(&limit, "limit", 50, "most requests to list; 0 for all")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"open", "closed", "template"},
		cobra.ShellCompDirectiveNoFileComp))
	return p.online(c, shortPatience)
}

func (p *Program) listRequests(ctx context.Context, state string, limit int) error {
	c, _, err := p.signedIn(ctx)
	if err != nil {
		return err
	}
	of := transferapi.ListRequestsParamsState(state)
	params := &transferapi.ListRequestsParams{State: &of}
	head := []string{"REQUEST", "DUE", "COMPLETE", "HANDED IN", "TO CHECK", "TITLE"}
	return listPages(p, limit, head, func(page int, after *string) ([]transferapi.DocumentRequestSummary, *string, error) {
		params.Limit, params.After = &page, after
		list, err := c.Transfer.ListRequests(ctx, params)
		if err != nil {
			return nil, nil, err
		}
		return list.Requests, list.Next, nil
	}, func(r transferapi.DocumentRequestSummary) []string {
		due := "-"
		if r.Due != nil {
			due = r.Due.Local().Format("2006-01-02 15:04")
		}
		return []string{r.UID.String(), due, fmt.Sprintf("%d of %d", r.Complete, r.PartyCount), strconv.Itoa(r.HandedIn),
			strconv.Itoa(r.Waiting), r.Title}
	})
}

func (p *Program) requestRemindCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "remind [flags] REQUEST [ADDRESS…]", Short: "Remind people of what they have not handed in, each once a day",
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			uid, err := requestUID(given[0])
			if err != nil {
				return err
			}
			return p.remind(c.Context(), uid, given[1:])
		},
	}
	return p.online(c, shortPatience)
}

func (p *Program) remind(ctx context.Context, uid string, addresses []string) error {
	c, _, err := p.signedIn(ctx)
	if err != nil {
		return err
	}
	reminded, failures := 0, []error(nil)
	if len(addresses) == 0 {
		answer, err := c.Transfer.RemindParties(ctx, uid)
		if err != nil {
			return err
		}
		reminded = answer.Reminded
	} else {
		r, err := c.Transfer.GetRequest(ctx, uid)
		if err != nil {
			return err
		}
		byAddress := map[string]uuid.UUID{}
		for _, one := range r.Parties {
			byAddress[strings.ToLower(one.Email)] = one.UID
		}
		for _, a := range addresses {
			party, ok := byAddress[strings.ToLower(a)]
			err := error(nil)
			if !ok {
				err = fmt.Errorf("the request does not ask this address: %w", errNotFound)
			} else if _, err = c.Transfer.RemindParty(ctx, uid, party.String()); err == nil {
				reminded++
			}
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", a, err))
			}
		}
	}
	if p.json {
		err = p.emit(map[string]int{"reminded": reminded})
	} else {
		_, err = fmt.Fprintln(p.Stdout, "reminded:", reminded)
	}
	return errors.Join(append(failures, err)...)
}

func (p *Program) requestFetchCommand() *cobra.Command {
	var f receiveFlags
	c := &cobra.Command{
		Use: "fetch [flags] REQUEST DIRECTORY", Short: "Download what people have handed in, a folder for each",
		Long: `Download what people have handed in, of each document the files of the last time: "Bob Builder/Builder - Lease.pdf". Each file is
compared with its SHA-256. Files that are there already are skipped, so that the command can be run again; it replaces no other file.
Files that the inspection withholds are named, and not downloaded.`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, given []string) error {
			uid, err := requestUID(given[0])
			if err != nil {
				return err
			}
			if f.parallel < 1 || f.parallel > 32 {
				return usageError("--parallel must be from 1 to 32")
			}
			return p.fetchRequest(c.Context(), uid, given[1], f)
		},
	}
	c.Flags().IntVar(&f.parallel, "parallel", 4, "files at a time")
	c.Flags().Var(&f.limit, "limit-rate", "bytes a second for all files together, as 500k or 2M")
	c.Flags().BoolVarP(&p.quiet, "quiet", "q", false, "no progress")
	return p.online(c, 10*time.Minute)
}

func (p *Program) fetchRequest(ctx context.Context, uid, dir string, f receiveFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	c, _, err := p.signedIn(ctx)
	if err != nil {
		return err
	}
	r, err := c.Transfer.GetRequest(ctx, uid)
	if err != nil {
		return err
	}
	objects, err := p.handedIn(ctx, c, *r)
	if err != nil {
		return err
	}
	return p.downloadAll(ctx, c, dir, objects, f)
}

// handedIn returns the files of a request, named as in its archive. The transfers of the hand-ins say their SHA-256.
func (p *Program) handedIn(ctx context.Context, c *client.Client, r transferapi.DocumentRequest) ([]client.Object, error) {
	items := map[uuid.UUID]string{}
	for _, it := range r.Items {
		items[it.UID] = it.Name
	}
	transfers := map[uuid.UUID]map[string]client.Object{}
	plain := strings.NewReplacer("/", "-", `\`, "-")
	var all []client.Object
	for _, one := range r.Parties {
		called := text(one.Name)
		if called == "" {
			called = one.Email
		}
		surname := called
		if words := strings.Fields(called); len(words) > 0 {
			surname = words[len(words)-1]
		}
		for _, of := range one.Items {
			for _, f := range of.Files {
				if f.Transfer == nil {
					continue
				}
				if transfers[*f.Transfer] == nil {
					found, err := p.givenObjects(ctx, c, f.Transfer.String())
					if err != nil {
						return nil, err
					}
					transfers[*f.Transfer] = found
				}
				name := plain.Replace(called) + "/" + plain.Replace(surname+" - "+items[of.Item]) + path.Ext(f.Name)
				o, ok := transfers[*f.Transfer][f.UID.String()]
				if !ok {
					p.notice()("%s is withheld: the inspection does not give it", printable(name))
					continue
				}
				o.Name = name
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// givenObjects returns the files of a transfer that the inspection gives, by their uids.
func (p *Program) givenObjects(ctx context.Context, c *client.Client, uid string) (map[string]client.Object, error) {
	t, err := c.Transfer.GetTransfer(ctx, uid)
	if err != nil {
		return nil, err
	}
	found := map[string]client.Object{}
	for i, o := range client.ObjectsOf(*t) {
		if held := (*t.Objects)[i].Held; held == nil || !*held {
			found[o.UID] = o
		}
	}
	return found, nil
}
