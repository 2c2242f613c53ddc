package main

import (
	"context"
	"fmt"

	"github.com/consign-dev/consign/internal/app"
)

// adminCommand lists and changes the operators, who may use the console.
func adminCommand(ctx context.Context, env environment, args []string) error {
	verb, rest, err := action("admin", args, map[string][2]int{"add": {1, 1}, "remove": {1, 1}, "list": {}})
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		switch verb {
		case "add":
			if err := a.Identity.AddOperator(ctx, env.actor(), rest[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintln(env.stdout, "The person can use the console at /admin after a login with a second factor.")
			return err
		case "remove":
			return a.Identity.RemoveOperator(ctx, env.actor(), rest[0])
		}
		all, err := a.Identity.Operators(ctx)
		if err != nil {
			return err
		}
		return table(env.stdout, func(row func(...any)) {
			row("UID", "ADDRESS", "NAME", "SINCE", "SECOND FACTOR")
			for _, o := range all {
				factor := "yes"
				if !o.HasFactor {
					factor = "no: the console refuses"
				}
				row(o.Person, o.Address, o.Name, minute(o.AddedAt), factor)
			}
		})
	})
}
