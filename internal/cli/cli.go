// Package cli holds the client commands of consign and consign-client: sign in, send and receive files, manage transfers and API
// tokens, verify receipts. They talk to a server through package client and have no access to its database.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/consign-dev/consign/client"
)

// Program is a run of a command line.
type Program struct {
	Name, Version  string
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Others         []*cobra.Command // further commands, for completions

	server   string // --server
	json     bool
	quiet    bool
	patience time.Duration
}

// Signals returns a context that ends with the first signal that ends a program. A second signal kills the process.
func Signals() (context.Context, context.CancelFunc) {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP) // the terminal was closed
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Run runs a command line without the program's name. Its errors are not printed: see [ExitCode].
func (p *Program) Run(ctx context.Context, args []string) error {
	root := p.Command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("%w: %w", errInterrupted, err)
	}
	return err
}

// Report prints the error of a command, if there is one to print, and returns the exit code.
func Report(stderr io.Writer, name string, err error) int {
	code := ExitCode(err)
	if err != nil && !errors.Is(err, ErrRefused) {
		fmt.Fprintln(stderr, name+": "+printable(explain(err)))
	}
	return code
}

// Command returns the command line as cobra has it, with all commands.
func (p *Program) Command() *cobra.Command {
	root := &cobra.Command{
		Use: p.Name, Short: "Send and receive files through a Consign server", Version: p.Version,
		Long:         exitCodes,
		SilenceUsage: true, SilenceErrors: true, DisableAutoGenTag: true,
		RunE: func(*cobra.Command, []string) error {
			return usageError("a command is missing; " + p.Name + " --help lists them")
		},
		Args: cobra.ArbitraryArgs,
	}
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError(fmt.Sprintf("there is no command %q; %s --help lists them", args[0], p.Name))
		}
		return nil
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError(fmt.Sprintf("%v\nusage: %s", err, c.UseLine()))
	})
	root.AddCommand(p.loginCommand(), p.logoutCommand(), p.sendCommand(), p.resumeCommand(), p.receiveCommand(), p.listCommand(),
		p.showCommand(),
		p.downloadCommand(), p.extendCommand(), p.revokeCommand(), p.requestCommand(), p.tokenCommand(), p.verifyCommand())
	root.AddCommand(p.Others...)
	return root
}

// Names returns the names of the commands that p has itself.
func (p *Program) Names() []string {
	names := []string{"completion", "__complete", "__completeNoDesc"}
	for _, c := range p.Command().Commands() {
		if !slices.Contains(p.Others, c) {
			names = append(names, c.Name())
		}
	}
	return names
}

// online adds the flags of commands that talk to a server.
func (p *Program) online(c *cobra.Command, patience time.Duration) *cobra.Command {
	c.Flags().StringVar(&p.server, "server", "",
		"address of the server, as https://files.example.com; default: $CONSIGN_SERVER, or the last login")
	c.Flags().BoolVar(&p.json, "json", false, "print JSON, one value a line")
	chosen := c.Flags().Duration("patience", patience, "how long to try again when the server or the network fails")
	c.PreRun = func(*cobra.Command, []string) { p.patience = *chosen } // commands have different defaults
	return c
}

// args wraps a rule of cobra for arguments, so that a violation is a usage error.
func args(rule cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		if err := rule(c, given); err != nil {
			return usageError(fmt.Sprintf("%v\nusage: %s", err, c.UseLine()))
		}
		return nil
	}
}

// getenv returns a variable of the environment.
func (p *Program) getenv(name string) string {
	for _, v := range slices.Backward(p.Environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// dir returns the directory of the XDG base directory specification for variable, below usual in the home directory without it.
func (p *Program) dir(variable, usual string) (string, error) {
	if base := p.getenv(variable); filepath.IsAbs(base) {
		return filepath.Join(base, "consign"), nil
	}
	home := p.getenv("HOME")
	if home == "" {
		home = p.getenv("USERPROFILE") // Windows
	}
	if home == "" {
		return "", fmt.Errorf("neither HOME nor %s is set: there is no place for files of this program", variable)
	}
	return filepath.Join(home, usual, "consign"), nil
}

func (p *Program) configDir() (string, error) { return p.dir("XDG_CONFIG_HOME", ".config") }

func (p *Program) stateDir() (string, error) {
	return p.dir("XDG_STATE_HOME", filepath.Join(".local", "state"))
}

// options are those of each connection.
func (p *Program) options() []client.Option {
	notice := p.notice()
	return []client.Option{
		client.WithUserAgent("consign-cli/" + p.Version), client.WithPatience(p.patience),
		client.WithOnWait(func(err error, pause time.Duration) {
			notice("%s; trying again in %s", explain(err), pause.Round(time.Second/10))
		}),
	}
}
