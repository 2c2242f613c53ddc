// Command consign is the Consign server and the tool its operators use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for a graceful end; from then on the default holds again, so that a second one kills.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	switch {
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "consign:", err)
		os.Exit(1)
	}
}

// environment is what a command has to work with.
type environment struct {
	environ        []string
	stdout, stderr io.Writer
}

// command is one word of the command line.
type command struct {
	name, arguments, help string
	run                   func(ctx context.Context, env environment, args []string) error
}

func commands() []command {
	return []command{
		{"serve", "[--demo] [--migrate]", "serve both APIs until a signal ends it", serve},
		{"migrate", "[up|status]", "bring the database to this version, or show what is applied", migrate},
		{"config", "", "print the effective configuration, secrets masked", printConfig},
		{"person", "create|show|limits|verify|end-sessions|reset-factors|export|delete PERSON", "make, see, export and delete people, and help those who are locked out", person},
		{"org", "create|show|set|limits|subscribe|host|member ORG …", "make, see and change organizations, their plans and members", organization},
		{"invitation", "create --shared [ORG]", "issue an invitation for everybody who has its key", invitation},
		{"mailbox", "create PERSON [LINK] | show PERSON", "make and see the mailbox of a person", mailbox},
		{"keys", "list|rotate|revoke KID|reseal", "see and change the keys that sign tokens", keys},
		{"mail", "list|retry UID|test ADDRESS", "see the mail queue, send again, try the settings", mailCommand},
		{"maintenance", "on|off", "answer 503 on every replica, or stop doing so", maintenance},
		{"fsck", "[--accept]", "compare all stored bytes with the database; accept what a restore brought back", fsck},
		{"audit", "[--limit N]", "print who did what, newest first", auditCommand},
		{"healthcheck", "", "exit 0 when the server of this configuration is healthy", healthcheck},
		{"version", "", "print the version", printVersion},
	}
}

// run is main without the process: it finds the command and runs it.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	env := environment{environ: environ, stdout: stdout, stderr: stderr}
	if len(args) == 0 {
		return usageError(usage())
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		_, err := io.WriteString(stdout, usage()+"\n")
		return err
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, env, args[1:])
		if errors.Is(err, flag.ErrHelp) {
			_, err = fmt.Fprintf(stdout, "usage: consign %s %s\n  %s\n", c.name, c.arguments, c.help)
		}
		return err
	}
	return usageError(fmt.Sprintf("consign: there is no command %q\n%s", args[0], usage()))
}

// usageError is a command line that cannot be understood; it ends the process with 2.
type usageError string

func (e usageError) Error() string { return string(e) }

func usage() string {
	text := "usage: consign COMMAND\n"
	for _, c := range commands() {
		text += fmt.Sprintf("\n  %s %s\n      %s", c.name, c.arguments, c.help)
	}
	return text
}

// flags makes the flag set of a command, silent because run prints its usage.
func flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// parse reads the flags and demands between least and most further arguments.
func parse(f *flag.FlagSet, args []string, least, most int) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError(fmt.Sprintf("consign %s: %v; see consign %s --help", f.Name(), err, f.Name()))
	}
	if f.NArg() < least || f.NArg() > most {
		return usageError(fmt.Sprintf("consign %s: that number of arguments does not fit; see consign %s --help", f.Name(), f.Name()))
	}
	return nil
}

// parseMixed reads flags that may stand before, between and after the other arguments, which it returns.
func parseMixed(f *flag.FlagSet, args []string) (others []string, err error) {
	for {
		if err := parse(f, args, 0, len(args)); err != nil {
			return nil, err
		}
		if args = f.Args(); len(args) == 0 {
			return others, nil
		}
		others, args = append(others, args[0]), args[1:]
	}
}

// withApp runs fn on a whole Consign that serves nothing: what operator commands act through. On the embedded default it joins the
// running server's cluster, or starts it for as long as fn takes.
func withApp(ctx context.Context, env environment, fn func(a *app.App) error) (err error) {
	cfg, err := config.Load(env.environ)
	if err != nil {
		return err
	}
	cfg.LogLevel = "warn"
	a, err := app.New(ctx, cfg, app.Options{Log: logger(cfg, env.stderr), Version: version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.Identity.BootstrapOnce(ctx); err != nil {
		return err
	}
	return fn(a)
}

// table prints aligned columns.
func table(w io.Writer, fill func(row func(cells ...any))) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fill(func(cells ...any) {
		for i, c := range cells {
			if i > 0 {
				_, _ = fmt.Fprint(t, "\t")
			}
			_, _ = fmt.Fprint(t, c)
		}
		_, _ = fmt.Fprintln(t)
	})
	return t.Flush()
}
