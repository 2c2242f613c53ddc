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
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/cli"
	"github.com/consign-dev/consign/internal/config"
)

// version is set by the linker, except by go install.
var version = "dev"

func main() {
	version = cli.Version(version)
	ctx, stop := cli.Signals() // the first signal starts a graceful shutdown, a second one kills the process
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	var client clientError
	var code exitCode
	switch {
	case errors.As(err, &code):
		os.Exit(int(code))
	case errors.As(err, &client):
		os.Exit(cli.Report(os.Stderr, "consign", client.error))
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "consign:", err)
		os.Exit(1)
	}
}

// clientError is the error of a client command, which has its own exit codes.
type clientError struct{ error }

func (e clientError) Unwrap() error { return e.error }

// clientProgram returns the client commands. The operator's commands are in it by name, for completions.
func clientProgram(environ []string, stdout, stderr io.Writer) *cli.Program {
	p := &cli.Program{Name: "consign", Version: version, Environ: environ, Stdin: os.Stdin, Stdout: stdout, Stderr: stderr}
	for _, c := range commands() {
		help, _, _ := strings.Cut(c.help, "\n")
		p.Others = append(p.Others, &cobra.Command{Use: c.name, Short: help, DisableFlagParsing: true, Run: func(*cobra.Command, []string) {}})
	}
	return p
}

// environment is the process environment of a command.
type environment struct {
	environ        []string
	stdout, stderr io.Writer
}

// command is a subcommand. Each usage is one form of its arguments.
type command struct {
	name, help string
	usages     []string
	run        func(ctx context.Context, env environment, args []string) error
}

const (
	personHelp = "\nPERSON is a uid or an email address."
	orgHelp    = "\nORG is a uid, a hostname, the email address of a member, or free."
)

func commands() []command {
	return []command{
		{"serve", "serve both APIs until a signal ends it; --demo-reset deletes all data of a demo once each PERIOD (1h)",
			[]string{"[--demo [--demo-reset PERIOD]] [--migrate]"}, serve},
		{"migrate", "apply pending migrations, or list all migrations", []string{"[up]", "status"}, migrate},
		{"config", "print the effective settings, secrets masked; --template prints an environment file with every setting commented",
			[]string{"[--template]"}, printConfig},
		{"person", "create, show, verify, limit, suspend, export and delete people, end their sessions, reset second factors" + personHelp,
			[]string{
				"create [--name NAME] [--locale LOCALE] [--time-zone ZONE] [--unverified] ADDRESS", "show PERSON",
				"limits PERSON uploadVolumeGb=N|default",
				"verify PERSON", "end-sessions PERSON", "suspend PERSON", "reactivate PERSON", "reset-factors PERSON", "export PERSON",
				"delete PERSON",
			}, person},
		{"admin", "list and change the operators, who may use the console at /admin" + personHelp,
			[]string{"add PERSON [operator|auditor|helpdesk]", "remove PERSON", "list"}, adminCommand},
		{"org", "create, show and change organizations, their plans and members" + orgHelp + personHelp, []string{
			"create [--locale LOCALE] [--time-zone ZONE] NAME", "show ORG", "set ORG name=value…", "limits ORG name=value…",
			"subscribe --domain skp|spaces [--product PRODUCT] [--name NAME] [--status STATUS] [--expires TIME] ORG", "host ORG HOSTNAME",
			"member [--roles A,B | --remove] ORG PERSON",
		}, organization},
		{"invitation", "create an invitation for everybody who has its key; administrators of the organization invite by address" + orgHelp,
			[]string{"create --shared [--roles A,B] [ORG]"}, invitation},
		{"mailbox", "create, show and suspend the mailbox of a person" + personHelp, []string{
			"create PERSON [VANITY-LINK]", "show PERSON", "suspend PERSON", "reactivate PERSON",
		}, mailbox},
		{"hold", "keep a transfer, a person or a mailbox for a case although it is deleted; list, export and end holds" + personHelp, []string{
			"add --case NAME --reason TEXT [--until DATE] [--notice] transfer UID|person PERSON|mailbox PERSON", "list", "export HOLD", "end HOLD",
		}, holds},
		{"transfer", "show, extend and revoke a transfer; DAYS count from now",
			[]string{"show UID", "extend UID DAYS", "revoke UID"}, transferCommand},
		{"keys", "list and change the keys that sign tokens", []string{"list", "rotate", "revoke KID", "reseal"}, keys},
		{"log", "show, check and operate the transparency log of receipts; erase the receipt of a transfer, all but its hash",
			[]string{"key", "checkpoint", "status", "verify", "rotate", "revoke", "restart", "erase TRANSFER",
				"certificate TRANSFER | --person UID"}, logCommand},
		{"mail", "list the mail queue, send mails again (one, or all that were refused with an error within a time), send a test mail", []string{
			"list [--state STATE] [--error TEXT] [--since TIME] [--until TIME]",
			"retry UID | [--state queued|failed] [--error TEXT] [--since TIME] [--until TIME]", "test ADDRESS",
		}, mailCommand},
		{"scan", "show the malware scanner and what waits for it; inspect the files of a transfer, or one file, again",
			[]string{"status", "again UID"}, scanCommand},
		{"maintenance", "turn maintenance mode (503 on every replica) on or off, or announce it: times as 2026-01-31T22:00:00Z or 2h from now",
			[]string{"on [UNTIL]", "at FROM [UNTIL]", "off"}, maintenance},
		{"fsck", "compare all stored bytes, or a --sample of 1%, with the database; --after UID goes on after an interruption; " +
			"--accept takes over the state after a restore", []string{"[--sample SHARE] [--after UID] [--accept]"}, fsck},
		{"storage", "encrypt the files that are stored in plain (CONSIGN_STORAGE_ENCRYPTION); move those of CONSIGN_STORAGE_SECOND_URL to URL, " +
			"which is CONSIGN_STORAGE_URL and may lack secrets and parameters", []string{"encrypt", "move --to URL"}, storage},
		{"backup", "write the database, and the list of the stored files that belong to it, into a new directory; record, as the last line of " +
			"a backup script, that all is copied", []string{"DIR", "record"}, backup},
		{"restore", "bring the database of a backup into an empty one; --verify then reads each stored file of its list and compares the SHA-256",
			[]string{"[--verify] DIR"}, restore},
		{"audit", "print who did what, newest first, as a table or as lines of JSON; --action person. selects all that begin so; " +
			"check the chain of a file that CONSIGN_AUDIT_STREAM has filled, or - for standard input; begin a new chain after a restore", []string{
			"[--json] [--limit N] [--person UID] [--organization UID] [--action ACTION] [--since TIME]", "verify FILE", "restart",
		}, auditCommand},
		{"doctor", "check everything that goes wrong at installation; exit code 0, 1 with warnings, 2 with errors", []string{"[--json]"},
			doctorCommand},
		{"selftest", "upload and download a file through the public URL as a temporary person, and remove everything again",
			[]string{"[--json] [--mb N]"}, selftestCommand},
		{"healthcheck", "exit 0 when the server of this configuration is healthy", []string{""}, healthcheck},
		{"licenses", "print the licences of Consign and of everything that it contains; --text prints their texts", []string{"[--text]"},
			printLicenses},
		{"version", "print the version", []string{""}, printVersion},
	}
}

// usage returns the help text of the command.
func (c command) usage() string {
	text, lead := "", "usage:"
	for _, u := range c.usages {
		text += strings.TrimRight(lead+" consign "+c.name+" "+u, " ") + "\n"
		lead = "      "
	}
	return text + c.help
}

// usage returns the help text of consign: all commands.
func usage() string {
	text := "usage: consign COMMAND; consign COMMAND --help prints its usage\n\n" + envFileFlag +
		" FILE gives any of these the settings of a file, " +
		"as systemd reads it (EnvironmentFile=).\nCommands read " + config.EnvFile +
		" when the environment has no setting.\n\nThe server and its operators:\n"
	for _, c := range commands() {
		help, _, _ := strings.Cut(c.help, "\n")
		text += fmt.Sprintf("\n  %-11s %s", c.name, help)
	}
	text += "\n\nClients of a server (also in consign-client):\n"
	for _, c := range clientProgram(nil, io.Discard, io.Discard).Command().Commands() {
		if !c.DisableFlagParsing && !c.Hidden {
			text += fmt.Sprintf("\n  %-11s %s", c.Name(), c.Short)
		}
	}
	return text
}

// run finds the command and runs it. It is main without the process, for tests.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError(usage())
	}
	client := clientProgram(environ, stdout, stderr)
	if own := client.Names(); slices.Contains(own, args[0]) || args[0] == "help" && len(args) > 1 && slices.Contains(own, args[1]) {
		if err := client.Run(ctx, args); err != nil {
			return clientError{err}
		}
		return nil
	}
	args, environ, err := withEnvFile(args, environ, config.EnvFile)
	if err != nil {
		return err
	}
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
	if slices.ContainsFunc(rest, asksForHelp) { // in any position
		_, err := fmt.Fprintln(stdout, c.usage())
		return err
	}
	err = c.run(ctx, environment{environ: environ, stdout: stdout, stderr: stderr}, rest)
	if wrong := usageError(""); errors.As(err, &wrong) {
		return usageError(string(wrong) + "\n" + c.usage())
	}
	return err
}

func asksForHelp(argument string) bool {
	return slices.Contains([]string{"-h", "-help", "--help"}, argument)
}

// usageError is an invalid command line: exit code 2. run adds the usage of the command.
type usageError string

func (e usageError) Error() string { return string(e) }

// flags returns the flag set of a command. It prints nothing: run prints the usage.
func flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// parse parses flags, which may stand anywhere between the other arguments, and returns the other arguments: least to most of them.
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

// action returns the action of a command and its arguments. known has the minimum and maximum number of arguments of each action.
func action(command string, args []string, known map[string][2]int) (verb string, rest []string, err error) {
	if len(args) == 0 {
		return "", nil, usageError("consign " + command + ": an action is missing")
	}
	verb = args[0]
	bounds, ok := known[verb]
	if !ok {
		return "", nil, usageError(fmt.Sprintf("consign %s: unknown action %q", command, verb))
	}
	rest, err = parse(flags(command+" "+verb), args[1:], bounds[0], bounds[1])
	return verb, rest, err
}

// withApp runs fn with an App that does not serve and has no storage. With the embedded Postgres it joins the running server's
// cluster, or starts the cluster until fn returns.
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

// installed returns an error for a data directory in which no server has run. A command without the server's settings would
// otherwise create a new, empty installation.
func installed(cfg config.Config) error {
	if cfg.DatabaseURL != "" {
		return nil
	}
	_, err := os.Stat(filepath.Join(cfg.DataDir, app.ClusterDir))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no server has run in %s: give this command the server's settings (CONSIGN_DATA_DIR or CONSIGN_DATABASE_URL, and the "+
			"others), or start the server first", cfg.DataDir)
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
