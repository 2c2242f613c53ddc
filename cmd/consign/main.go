// Command consign is the Consign server and the tool its operators use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
)

// version is set by the linker.
var version = "dev"

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP) // the terminal was closed
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
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

// command is one word of the command line. Each of its usages is a line of what may follow the word.
type command struct {
	name, help string
	usages     []string
	run        func(ctx context.Context, env environment, args []string) error
}

const (
	whatPerson = "\nPERSON is a uid or an email address."
	whatOrg    = "\nORG is a uid, a hostname, the email address of a member, or free."
)

func commands() []command {
	return []command{
		{"serve", "serve both APIs until a signal ends it", []string{"[--demo] [--migrate]"}, serve},
		{"migrate", "bring the database to this version, or show what is applied", []string{"[up]", "status"}, migrate},
		{"config", "print the effective configuration, secrets masked", []string{""}, printConfig},
		{"person", "make, see, export and delete people, and help those who are locked out" + whatPerson, []string{
			"create [--name NAME] [--locale LOCALE] [--time-zone ZONE] [--unverified] ADDRESS", "show PERSON", "limits PERSON uploadVolumeGb=N|default",
			"verify PERSON", "end-sessions PERSON", "reset-factors PERSON", "export PERSON", "delete PERSON",
		}, person},
		{"org", "make, see and change organizations, their plans and members" + whatOrg + whatPerson, []string{
			"create [--locale LOCALE] [--time-zone ZONE] NAME", "show ORG", "set ORG name=value…", "limits ORG name=value…",
			"subscribe --domain skp|spaces [--product PRODUCT] [--name NAME] [--status STATUS] [--expires TIME] ORG", "host ORG HOSTNAME",
			"member [--roles A,B | --remove] ORG PERSON",
		}, organization},
		{"invitation", "issue an invitation for everybody who has its key; those to an address are the administrators' of the organization" + whatOrg,
			[]string{"create --shared [--roles A,B] [ORG]"}, invitation},
		{"mailbox", "make and see the mailbox of a person" + whatPerson, []string{"create PERSON [VANITY-LINK]", "show PERSON"}, mailbox},
		{"keys", "see and change the keys that sign tokens", []string{"list", "rotate", "revoke KID", "reseal"}, keys},
		{"mail", "see the mail queue, send again, try the settings", []string{"list", "retry UID", "test ADDRESS"}, mailCommand},
		{"maintenance", "answer 503 on every replica, or stop doing so", []string{"on", "off"}, maintenance},
		{"fsck", "compare all stored bytes with the database; accept what a restore brought back", []string{"[--accept]"}, fsck},
		{"audit", "print who did what, newest first", []string{"[--limit N]"}, auditCommand},
		{"healthcheck", "exit 0 when the server of this configuration is healthy", []string{""}, healthcheck},
		{"version", "print the version", []string{""}, printVersion},
	}
}

// usage says how the command is called.
func (c command) usage() string {
	text, lead := "", "usage:"
	for _, u := range c.usages {
		text += strings.TrimRight(lead+" consign "+c.name+" "+u, " ") + "\n"
		lead = "      "
	}
	return text + c.help
}

// usage lists the commands.
func usage() string {
	text := "usage: consign COMMAND; consign COMMAND --help tells more\n"
	for _, c := range commands() {
		help, _, _ := strings.Cut(c.help, "\n")
		text += fmt.Sprintf("\n  %-11s %s", c.name, help)
	}
	return text
}

// run is main without the process: it finds the command and runs it.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError(usage())
	}
	name, rest := args[0], args[1:]
	if name == "help" && len(rest) > 0 {
		name, rest = rest[0], []string{"--help"}
	}
	if name == "help" || asksForHelp(name) {
		_, err := fmt.Fprintln(stdout, usage())
		return err
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return usageError(fmt.Sprintf("consign: there is no command %q\n%s", name, usage()))
	}
	c := all[i]
	if slices.ContainsFunc(rest, asksForHelp) { // wherever it stands: it is nobody's address
		_, err := fmt.Fprintln(stdout, c.usage())
		return err
	}
	err := c.run(ctx, environment{environ: environ, stdout: stdout, stderr: stderr}, rest)
	if wrong := usageError(""); errors.As(err, &wrong) {
		return usageError(string(wrong) + "\n" + c.usage())
	}
	return err
}

func asksForHelp(argument string) bool {
	return slices.Contains([]string{"-h", "-help", "--help"}, argument)
}

// usageError is a command line that cannot be understood; it ends the process with 2. run adds how the command is called.
type usageError string

func (e usageError) Error() string { return string(e) }

// flags makes the flag set of a command, silent because run prints its usage.
func flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// parse reads flags, which may stand before, between and after the other arguments, and returns those: least to most of them.
func parse(f *flag.FlagSet, args []string, least, most int) (others []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, usageError(fmt.Sprintf("consign %s: %v", f.Name(), err))
		}
		if f.NArg() == 0 {
			break
		}
		others, args = append(others, f.Arg(0)), f.Args()[1:]
	}
	switch {
	case len(others) < least:
		return nil, usageError(fmt.Sprintf("consign %s: an argument is missing", f.Name()))
	case len(others) > most:
		return nil, usageError(fmt.Sprintf("consign %s: %q is one argument too many", f.Name(), others[most]))
	}
	return others, nil
}

// action reads what a command shall do, one of known with the least and most arguments it takes, and returns those.
func action(command string, args []string, known map[string][2]int) (what string, rest []string, err error) {
	if len(args) == 0 {
		return "", nil, usageError("consign " + command + ": it is missing what to do")
	}
	what = args[0]
	bounds, ok := known[what]
	if !ok {
		return "", nil, usageError(fmt.Sprintf("consign %s: %q is nothing that it does", command, what))
	}
	rest, err = parse(flags(command+" "+what), args[1:], bounds[0], bounds[1])
	return what, rest, err
}

// withApp runs fn on a Consign that serves nothing and has no storage: what operator commands act through. On the embedded default
// it joins the running server's cluster, or starts it for as long as fn takes.
func withApp(ctx context.Context, env environment, fn func(a *app.App) error) error {
	return withOptions(ctx, env, app.Options{NoStorage: true}, fn)
}

func withOptions(ctx context.Context, env environment, o app.Options, fn func(a *app.App) error) (err error) {
	cfg, err := config.Parse(env.environ)
	if err != nil {
		return err
	}
	if err := installed(cfg); err != nil {
		return err
	}
	if cfg, err = config.Load(env.environ); err != nil {
		return err
	}
	cfg.LogLevel = "warn"
	o.Log, o.Version = logger(cfg, env.stderr), version
	a, err := app.New(ctx, cfg, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.Identity.BootstrapOnce(ctx); err != nil {
		return err
	}
	return fn(a)
}

// installed refuses a data directory in which no server has ever run: whoever gives a command without the server's settings would
// otherwise make an installation of its own, and find nobody there.
func installed(cfg config.Config) error {
	if cfg.DatabaseURL != "" {
		return nil
	}
	_, err := os.Stat(filepath.Join(cfg.DataDir, app.ClusterDir))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no server has run in %s: give this command the server's settings (CONSIGN_DATA_DIR or CONSIGN_DATABASE_URL, and the others), or start the server first", cfg.DataDir)
	}
	return err
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
