// The command consign doctor: prints the findings, the worst first, or as JSON.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/doctor"
)

// exitCode is the exit code of a command that has printed everything itself.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// doctorCommand checks the installation. Its exit code is 0 with hints at worst, 1 with warnings and 2 with errors.
func doctorCommand(ctx context.Context, env environment, args []string) error {
	f := flags("doctor")
	asJSON := f.Bool("json", false, "")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	findings, err := examined(ctx, env)
	if err != nil {
		findings = []doctor.Finding{{ID: "settings.wrong", Severity: doctor.Error, Sentence: err.Error(),
			Advice: "Correct that setting; docs/use/configuration.md describes all."}}
	}
	if err := printFindings(env.stdout, findings, *asJSON); err != nil {
		return err
	}
	switch doctor.Worst(findings) {
	case doctor.Error:
		return exitCode(2)
	case doctor.Warning:
		return exitCode(1)
	}
	return nil
}

// examined runs the checks with the settings of the environment.
func examined(ctx context.Context, env environment) (_ []doctor.Finding, err error) {
	cfg, err := config.Parse(env.environ)
	if err != nil {
		return nil, err
	}
	if len(cfg.SecretKey) == 0 && installed(cfg) == nil { // not before: Load would make a key
		if cfg, err = config.Load(env.environ); err != nil {
			return nil, err
		}
	}
	d, closeAll, err := app.OpenDoctor(ctx, cfg, app.DoctorOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	return d.Run(ctx), nil
}

// printFindings prints findings, the worst first.
func printFindings(w io.Writer, findings []doctor.Finding, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(map[string]any{"worst": doctor.Worst(findings), "findings": findings})
	}
	for _, severity := range []doctor.Severity{doctor.Error, doctor.Warning, doctor.Hint, doctor.OK} {
		for _, f := range findings {
			if f.Severity != severity {
				continue
			}
			text := fmt.Sprintf("%-8s %s: %s\n", severity, f.ID, f.Sentence)
			if f.Advice != "" {
				text += strings.Repeat(" ", 9) + f.Advice + "\n"
			}
			if _, err := io.WriteString(w, text); err != nil {
				return err //nolint:wrapcheck // the terminal's
			}
		}
	}
	n := func(s doctor.Severity) int {
		return len(slices.DeleteFunc(slices.Clone(findings), func(f doctor.Finding) bool { return f.Severity != s }))
	}
	_, err := fmt.Fprintf(w, "\nerrors: %d, warnings: %d, hints: %d\n", n(doctor.Error), n(doctor.Warning), n(doctor.Hint))
	return err //nolint:wrapcheck // the terminal's
}
