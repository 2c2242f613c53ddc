package main

import (
	"context"
	"fmt"

	"github.com/consign-dev/consign/internal/licenses"
)

// printLicenses prints the components of this binary with their licences, or the licence texts.
func printLicenses(_ context.Context, env environment, args []string) error {
	f := flags("licenses")
	text := f.Bool("text", false, "")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if *text {
		_, err := fmt.Fprint(env.stdout, licenses.ThirdParty())
		return err
	}
	return table(env.stdout, func(row func(cells ...any)) {
		row("consign", version, "Apache-2.0")
		for _, c := range licenses.Components() {
			row(c.Name, c.Version, c.Licence)
		}
	})
}
