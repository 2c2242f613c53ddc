// The commands login (in a browser, with code and QR code, or with a token) and logout.

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/consign-dev/consign/client"
)

var apiToken = regexp.MustCompile(`^cns_[0-9A-Za-z]{49}$`)

func (p *Program) loginCommand() *cobra.Command {
	var token string
	c := &cobra.Command{
		Use: "login [flags] https://HOST", Short: "Sign in to a server in a browser, or store an API token",
		Long: `Sign in to a server. Without --token the command shows a code: open the address in any browser, compare the code and approve.
With --token it stores an API token; --token - reads it from stdin, so that it is in no list of processes.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			server, err := origin(given[0])
			if err != nil {
				return err
			}
			if err := protected(server); err != nil {
				return err
			}
			if c.Flags().Changed("token") {
				return p.storeToken(c.Context(), server, token)
			}
			return p.loginByDevice(c.Context(), server)
		},
	}
	c.Flags().StringVar(&token, "token", "", "an API token (cns_…) instead of a browser; - reads it from stdin")
	return p.online(c, 20*time.Second)
}

func (p *Program) storeToken(ctx context.Context, server, token string) error {
	if token == "-" {
		line, err := io.ReadAll(io.LimitReader(p.Stdin, 4096))
		if err != nil {
			return err
		}
		token = strings.TrimSpace(string(line))
	}
	if !apiToken.MatchString(token) {
		return usageError("--token is not an API token: it has the form cns_… and 53 characters")
	}
	c, err := client.New(ctx, server, append(p.options(), client.WithAPIToken(token))...)
	if err != nil {
		return err
	}
	if _, err := c.Transfer.GetEnvironment(ctx); err != nil {
		return err
	}
	return p.storeAccount(server, account{Token: token}, "with an API token")
}

func (p *Program) storeAccount(server string, a account, how string) error {
	err := p.changeCredentials(func(c *credentials) { c.Default, c.Accounts[server] = server, a })
	if err != nil {
		return err
	}
	if p.json {
		return p.emit(map[string]string{"server": server, "name": a.Name})
	}
	_, err = fmt.Fprintf(p.Stdout, "signed in to %s %s\n", server, printable(how))
	return err
}

func (p *Program) loginByDevice(ctx context.Context, server string) error {
	var session client.Session
	c, err := client.New(ctx, server, append(p.options(), client.WithOnSession(func(s client.Session) error { session = s; return nil }))...)
	if err != nil {
		return err
	}
	name := "consign"
	if host, err := os.Hostname(); err == nil {
		name += " on " + host
	}
	if err := c.LoginByDevice(ctx, name[:min(len(name), 60)], p.showCode); err != nil {
		return err
	}
	person, err := c.Identity.GetProfile(ctx)
	if err != nil {
		return err
	}
	a := account{Session: &session, Name: text(person.Name)}
	return p.storeAccount(server, a, "as "+a.Name)
}

// showCode shows how to approve the login.
func (p *Program) showCode(code client.DeviceCode) error {
	if p.json {
		return p.emit(map[string]any{"userCode": code.UserCode, "url": code.URL, "completeUrl": code.CompleteURL, "expires": code.Expires.UTC()})
	}
	if _, ok := terminal(p.Stderr); ok {
		if err := showQR(p.Stderr, code.CompleteURL); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.Stderr, "Open %s\nand enter the code %s, or scan the picture. The code works for %.0f minutes. Waiting …\n",
		printable(code.URL), printable(code.UserCode), time.Until(code.Expires).Minutes())
	return err
}

func (p *Program) logoutCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "logout [flags]", Short: "End the session at the server and forget the login",
		Long: "End the session at the server and forget the login. An API token is only forgotten here: token revoke ends it.",
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			stored, err := p.credentials()
			if err != nil {
				return err
			}
			server := stored.Default
			if p.server != "" {
				if server, err = origin(p.server); err != nil {
					return err
				}
			}
			a, ok := stored.Accounts[server]
			if !ok {
				return errNoLogin
			}
			if err := p.endSession(c.Context(), server, a); err != nil {
				return fmt.Errorf("the session is still open at the server: %w", err)
			}
			err = p.changeCredentials(func(c *credentials) {
				delete(c.Accounts, server)
				if c.Default == server {
					c.Default = ""
				}
			})
			if err == nil && !p.json {
				_, err = fmt.Fprintf(p.Stdout, "signed out of %s\n", server)
			}
			return err
		},
	}
	return p.online(c, 20*time.Second)
}

func (p *Program) endSession(ctx context.Context, server string, a account) error {
	if a.Session == nil {
		return nil
	}
	c, err := client.New(ctx, server, append(p.options(), client.WithSession(*a.Session))...)
	if err != nil {
		return err
	}
	return c.Logout(ctx)
}
