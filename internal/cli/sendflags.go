package cli

import (
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// sendFlags are the flags of send.
type sendFlags struct {
	to, fields                   []string
	link, anonymous, restart     bool
	from, name                   string
	subject, message, protection string
	password, code               string
	expires, parallel            int
	limit                        byteRate
	recipients                   recipients
	senderName, senderEmail      string
	answers                      map[string]string
}

func (p *Program) sendCommand() *cobra.Command {
	f := &sendFlags{}
	c := &cobra.Command{
		Use: "send [flags] FILE|DIRECTORY|-…", Short: "Send files to a mailbox or to addresses",
		Long: `Send files to a mailbox, to addresses, or to everybody who has a link (--link).

A mailbox takes files from anybody: --to https://HOST/m/NAME --from 'Sam <sam@example.com>'. Sending to addresses needs a login. A
directory is sent with all files below it; symbolic links in it are skipped. - reads stdin, which needs --name.

An interrupted send continues with the same command, or with resume, for 48 hours. A file that has changed meanwhile is an error.`,
		Example: `  consign send pictures.zip --to https://files.example.com/m/ann --from 'Sam <sam@example.com>'
  tar c project | consign send - --name project.tar --to bob@example.com --subject 'The project'`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, paths []string) error {
			if err := f.check(paths); err != nil {
				return err
			}
			return p.send(c.Context(), f, paths)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.to, "to", nil, "link or name of a mailbox, or an address; addresses can be repeated")
	flags.BoolVar(&f.link, "link", false, "send to nobody: everybody who has the printed link can download")
	flags.StringVar(&f.from, "from", "", "sender of a delivery to a mailbox, as 'Sam <sam@example.com>'; default: the login's person")
	flags.BoolVar(&f.anonymous, "anonymous", false, "do not use the login for a delivery to a mailbox")
	flags.StringArrayVar(&f.fields, "field", nil, "NAME=VALUE: answer to a question of the mailbox; can be repeated")
	flags.StringVar(&f.code, "code", "", "the code that a mailbox has mailed to the sender, for a send that continues")
	flags.StringVar(&f.subject, "subject", "", "subject")
	flags.StringVar(&f.message, "message", "", "message")
	flags.IntVar(&f.expires, "expires", 0, "days until the transfer expires; default: the organization's")
	flags.StringVar(&f.protection, "protection", "", "none, password or recipientAuthentication")
	flags.StringVar(&f.password, "password", "", "password that recipients need; - asks for it on the terminal")
	flags.StringVar(&f.name, "name", "", "name of the single file, for the recipient")
	flags.BoolVar(&f.restart, "restart", false, "do not continue an interrupted send, begin again")
	p.uploadFlags(c, f)
	_ = c.RegisterFlagCompletionFunc("protection", cobra.FixedCompletions([]string{"none", "password", "recipientAuthentication"},
		cobra.ShellCompDirectiveNoFileComp))
	return p.online(c, 10*time.Minute)
}

func (p *Program) uploadFlags(c *cobra.Command, f *sendFlags) {
	c.Flags().IntVar(&f.parallel, "parallel", 4, "files at a time")
	c.Flags().Var(&f.limit, "limit-rate", "bytes a second for all files together, as 500k or 2M")
	c.Flags().BoolVarP(&p.quiet, "quiet", "q", false, "no progress")
}

// check parses the flags.
func (f *sendFlags) check(paths []string) (err error) {
	if f.recipients, err = parseTo(f.to); err != nil {
		return err
	}
	toMailbox := f.recipients.mailbox != ""
	switch {
	case len(f.to) == 0 && !f.link:
		return usageError("--to is missing: the link of a mailbox or addresses; or --link for a link only")
	case len(f.to) > 0 && f.link:
		return usageError("--link and --to exclude each other")
	case slices.Contains(paths, "-") && (len(paths) > 1 || f.name == ""):
		return usageError("- reads stdin: it is the only file and needs --name")
	case f.name != "" && len(paths) > 1:
		return usageError("--name is for a single file")
	case toMailbox && (f.expires != 0 || f.protection != "" || f.password != ""):
		return usageError("the owner of a mailbox chooses expiry and protection: leave out --expires, --protection and --password")
	case !toMailbox && (f.from != "" || f.anonymous || len(f.fields) > 0):
		return usageError("--from, --anonymous and --field are for a mailbox")
	case f.parallel < 1 || f.parallel > 32:
		return usageError("--parallel must be from 1 to 32")
	case f.protection != "" && !slices.Contains([]string{"none", "password", "recipientAuthentication"}, f.protection):
		return usageError("--protection must be none, password or recipientAuthentication")
	case f.protection == "password" && f.password == "":
		return usageError("--protection password needs --password; --password - asks for it")
	}
	if f.from != "" {
		sender, err := mail.ParseAddress(f.from)
		if err != nil {
			return usageError(fmt.Sprintf("--from: %q is no address, as 'Sam <sam@example.com>'", f.from))
		}
		f.senderEmail, f.senderName = sender.Address, sender.Name
		if f.senderName == "" {
			f.senderName, _, _ = strings.Cut(sender.Address, "@")
		}
	}
	f.answers = map[string]string{}
	for _, field := range f.fields {
		name, value, ok := strings.Cut(field, "=")
		if !ok || name == "" {
			return usageError(fmt.Sprintf("--field %q: write NAME=VALUE", field))
		}
		f.answers[name] = value
	}
	return nil
}
