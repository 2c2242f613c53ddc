// The commands token list, create and revoke.

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/identityapi"
)

func (p *Program) tokenCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "token", Short: "List, create and revoke API tokens",
		Long: "API tokens (cns_…) are for programs. These commands need a login in a browser; an API token cannot manage tokens.",
		Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return usageError("token: an action is missing: list, create or revoke")
		},
	}
	c.AddCommand(p.tokenList(), p.tokenCreate(), p.tokenRevoke())
	return c
}

func (p *Program) tokenList() *cobra.Command {
	c := &cobra.Command{Use: "list [flags]", Short: "List your API tokens", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := p.session(c.Context())
			if err != nil {
				return err
			}
			list, err := client.Identity.ListAPITokens(c.Context(), &identityapi.ListAPITokensParams{}, client.IDToken)
			if err != nil {
				return err
			}
			rows := [][]string{{"TOKEN", "NAME", "SCOPES", "EXPIRES", "LAST USED"}}
			for _, t := range list.Tokens {
				if p.json {
					if err := p.emit(t); err != nil {
						return err
					}
					continue
				}
				used := "never"
				if t.LastUsedTimestamp != nil {
					used = *t.LastUsedTimestamp
				}
				rows = append(rows, []string{t.UID.String(), t.Name, scopes(t.Scopes), t.ExpirationTimestamp.Local().Format("2006-01-02"), used})
			}
			if p.json {
				return nil
			}
			return p.table(rows)
		}}
	return p.online(c, shortPatience)
}

func scopes(list []identityapi.Scope) string {
	var names []string
	for _, s := range list {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}

// session connects with a login of a browser.
func (p *Program) session(ctx context.Context) (*client.Client, error) {
	c, server, err := p.signedIn(ctx)
	if err != nil {
		return nil, err
	}
	if a, err := p.account(server); err != nil || a.Session == nil {
		return nil, fmt.Errorf("an API token cannot manage API tokens: %w", errNoLogin)
	}
	return c, nil
}

func (p *Program) tokenCreate() *cobra.Command {
	var wanted, mailboxes []string
	var days int
	c := &cobra.Command{
		Use: "create [flags] --scope SCOPE… NAME", Short: "Create an API token and print it, once",
		Long: `Create an API token. It is printed once. Scopes: mailbox:drop (needs --mailbox), transfers:read, transfers:send, mailbox:manage,
organization:read, organization:manage, webhooks. The server may ask for your password when your login is older than 15 minutes.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if len(wanted) == 0 {
				return usageError("--scope is missing; token create --help lists the scopes")
			}
			if days < 1 || days > 366 {
				return usageError("--days must be from 1 to 366")
			}
			expires := time.Now().Add(time.Duration(days)*24*time.Hour - time.Minute).UTC().Truncate(time.Millisecond)
			body := identityapi.NewAPIToken{Name: given[0], ExpirationTimestamp: &expires}
			for _, s := range wanted {
				body.Scopes = append(body.Scopes, identityapi.Scope(s))
			}
			if len(mailboxes) > 0 {
				body.Mailboxes = &mailboxes
			}
			return p.createToken(c.Context(), body)
		},
	}
	c.Flags().StringSliceVar(&wanted, "scope", nil, "what the token may do; can be repeated")
	c.Flags().StringSliceVar(&mailboxes, "mailbox", nil, "for mailbox:drop: link name or uid of a mailbox; can be repeated")
	c.Flags().IntVar(&days, "days", 90, "days until it expires, up to 366")
	_ = c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(
		[]string{"mailbox:drop", "transfers:read", "transfers:send", "mailbox:manage",
			"organization:read", "organization:manage", "webhooks"}, cobra.ShellCompDirectiveNoFileComp))
	return p.online(c, shortPatience)
}

func (p *Program) createToken(ctx context.Context, body identityapi.NewAPIToken) error {
	c, err := p.session(ctx)
	if err != nil {
		return err
	}
	token, err := c.Identity.CreateAPIToken(ctx, body, c.IDToken)
	if client.HasCode(err, 403010) {
		password, asked := p.ask("Your login is older than 15 minutes. Password:", true,
			"your login is older than 15 minutes: run login again, or run this on a terminal, which asks for the password")
		if asked != nil {
			return asked
		}
		body.AuthKey = &password
		token, err = c.Identity.CreateAPIToken(ctx, body, c.IDToken)
	}
	if client.HasCode(err, 403048) {
		return fmt.Errorf("your account has a second factor: run login again and create the token within 15 minutes: %w", err)
	}
	if err != nil {
		return err
	}
	if p.json {
		return p.emit(token)
	}
	p.notice()("API token %s, %s, until %s. It is not shown again:", token.UID, scopes(token.Scopes),
		token.ExpirationTimestamp.Format("2006-01-02"))
	_, err = fmt.Fprintln(p.Stdout, token.Token)
	return err
}

func (p *Program) tokenRevoke() *cobra.Command {
	c := &cobra.Command{Use: "revoke [flags] TOKEN…", Short: "Revoke API tokens by their uid", Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, uids []string) error {
			client, err := p.session(c.Context())
			if err != nil {
				return err
			}
			for _, uid := range uids {
				if !uidForm.MatchString(uid) {
					return usageError(fmt.Sprintf("%q is not the uid of an API token, as token list prints it", uid))
				}
				if err := client.Identity.DeleteAPIToken(c.Context(), uid, client.IDToken); err != nil {
					return err
				}
				if !p.json {
					fmt.Fprintln(p.Stdout, "revoked", uid)
				}
			}
			return nil
		}}
	return p.online(c, shortPatience)
}
