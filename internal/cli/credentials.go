// The logins in credentials.json, and which server and login a command uses.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/consign-dev/consign/client"
)

// account is a login at one server: an API token or a session.
type account struct {
	Token   string          `json:"token,omitempty"`
	Session *client.Session `json:"session,omitempty"`
	Name    string          `json:"name,omitempty"` // address of the person, empty with a token
}

// credentials are the content of credentials.json.
type credentials struct {
	Default  string             `json:"default"` // server of the last login
	Accounts map[string]account `json:"accounts"`
}

func (p *Program) credentialsFile() (string, error) {
	dir, err := p.configDir()
	return filepath.Join(dir, "credentials.json"), err
}

// credentials reads the stored logins; none when there is no file.
func (p *Program) credentials() (credentials, error) {
	c := credentials{Accounts: map[string]account{}}
	name, err := p.credentialsFile()
	if err != nil {
		return c, err
	}
	raw, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		if err = json.Unmarshal(raw, &c); err != nil {
			err = localError("%s is damaged (%v): delete it and run login again", name, err)
		}
	}
	if c.Accounts == nil {
		c.Accounts = map[string]account{}
	}
	return c, err
}

// changeCredentials changes the stored logins, one process at a time.
func (p *Program) changeCredentials(change func(*credentials)) error {
	name, err := p.credentialsFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	unlock, err := lockFile(name+".lock", true)
	if err != nil {
		return err
	}
	defer unlock()
	c, err := p.credentials()
	if err != nil {
		return err
	}
	change(&c)
	return writeJSON(name, c)
}

// writeJSON replaces a file with mode 0600. After a crash the file is the former or the new one.
func writeJSON(name string, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// origin returns scheme and host of an address, which identify a server.
func origin(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return "", usageError(fmt.Sprintf("%q is not the address of a server, as https://files.example.com", address))
	}
	return strings.ToLower(u.Scheme + "://" + u.Host), nil
}

// protected returns an error for a server to which a secret would travel unencrypted.
func protected(server string) error {
	u, err := url.Parse(server)
	if err != nil {
		return err
	}
	if host := u.Hostname(); u.Scheme == "https" || host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.") ||
		strings.HasSuffix(host, ".localhost") {
		return nil
	}
	return usageError(server + " is not encrypted: use https://")
}

// target returns the server of a command: where names it when it is not empty.
func (p *Program) target(where string) (string, error) {
	for _, s := range []string{where, p.server, p.getenv("CONSIGN_SERVER")} {
		if s != "" {
			return origin(s)
		}
	}
	c, err := p.credentials()
	if err == nil && c.Default == "" {
		err = errNoLogin
	}
	return c.Default, err
}

// connect connects to a server as where, with the login for it if there is one.
func (p *Program) connect(ctx context.Context, where string) (*client.Client, string, error) {
	server, err := p.target(where)
	if err != nil {
		return nil, "", err
	}
	a, err := p.account(server)
	if err != nil {
		return nil, "", err
	}
	options := p.options()
	switch {
	case a.Token != "":
		options = append(options, client.WithAPIToken(a.Token))
	case a.Session != nil:
		options = append(options, client.WithSession(*a.Session), client.WithOnSession(func(s client.Session) error {
			return p.changeCredentials(func(c *credentials) {
				a.Session = &s
				c.Accounts[server] = a
			})
		}))
	}
	if a.Token != "" || a.Session != nil {
		if err := protected(server); err != nil {
			return nil, "", err
		}
	}
	c, err := client.New(ctx, server, options...)
	return c, server, err
}

// account returns the login for a server. A token of the environment is for the server of the environment only, so that no link
// sends it elsewhere.
func (p *Program) account(server string) (account, error) {
	if token := p.getenv("CONSIGN_TOKEN"); token != "" {
		own, err := origin(p.getenv("CONSIGN_SERVER"))
		if err != nil {
			return account{}, usageError("CONSIGN_TOKEN is set without CONSIGN_SERVER, the server that the token is for")
		}
		if own == server {
			return account{Token: token}, nil
		}
	}
	c, err := p.credentials()
	return c.Accounts[server], err
}

// signedIn is connect for commands that need a login.
func (p *Program) signedIn(ctx context.Context) (*client.Client, string, error) {
	c, server, err := p.connect(ctx, "")
	if err == nil && !c.SignedIn() {
		return nil, "", fmt.Errorf("%s: %w", server, errNoLogin)
	}
	return c, server, err
}
