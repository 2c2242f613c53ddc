// The command resume: continues, lists or gives up interrupted sends.

package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

func (p *Program) resumeCommand() *cobra.Command {
	var list, forget bool
	f := &sendFlags{}
	c := &cobra.Command{
		Use: "resume [flags] [SEND…]", Short: "Continue, list or give up interrupted sends",
		Long: "Continue interrupted sends: all, or those with the given ids. --list prints them, --forget gives them up.",
		Args: args(cobra.ArbitraryArgs),
		RunE: func(c *cobra.Command, ids []string) error {
			all, err := p.sendings()
			if err != nil {
				return err
			}
			for _, id := range ids {
				if !slices.ContainsFunc(all, func(s *sending) bool { return s.ID == id }) {
					return fmt.Errorf("there is no interrupted send %q; resume --list prints them: %w", id, errNotFound)
				}
			}
			all = slices.DeleteFunc(all, func(s *sending) bool { return len(ids) > 0 && !slices.Contains(ids, s.ID) })
			if list {
				return p.printSendings(all)
			}
			for _, s := range all {
				if err := p.resume(c.Context(), s.ID, f, forget); err != nil {
					return fmt.Errorf("send %s: %w", s.ID, err)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&list, "list", false, "print the interrupted sends")
	c.Flags().BoolVar(&forget, "forget", false, "give them up; the server deletes what it holds")
	c.Flags().StringVar(&f.code, "code", "", "the code that a mailbox has mailed to the sender")
	p.uploadFlags(c, f)
	return p.online(c, 10*time.Minute)
}

func (p *Program) resume(ctx context.Context, id string, f *sendFlags, forget bool) error {
	s, found, err := p.openSending(id)
	if err != nil || !found {
		return err
	}
	defer s.unlock()
	if forget {
		p.abandon(ctx, s)
		return nil
	}
	for _, file := range s.Files {
		if err := file.changed(); err != nil {
			return err
		}
	}
	return p.finish(ctx, s, f)
}

// printSendings lists interrupted sends.
func (p *Program) printSendings(all []*sending) error {
	rows := [][]string{{"SEND", "BEGAN", "TO", "FILES", "SIZE", "SENT"}}
	for _, s := range all {
		var total, sent int64
		for _, f := range s.Files {
			total += f.Size
		}
		for _, o := range s.Upload.Objects {
			if sent += o.Sent; o.Complete {
				sent += o.Size - o.Sent
			}
		}
		if p.json {
			if err := p.emit(map[string]any{"send": s.ID, "server": s.Server, "began": s.Began, "to": s.To, "files": s.Files, "size": total,
				"sent": sent}); err != nil {
				return err
			}
		}
		rows = append(rows, []string{s.ID, s.Began.Local().Format("2006-01-02 15:04"), s.To, fmt.Sprint(len(s.Files)), size(total), size(sent)})
	}
	if p.json {
		return nil
	}
	return p.table(rows)
}
