package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/token"
)

// adminCommand lists and changes the operators, who may use the console.
func adminCommand(ctx context.Context, env environment, args []string) error {
	verb, rest, err := action("admin", args, map[string][2]int{"add": {1, 2}, "remove": {1, 1}, "list": {}})
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		switch verb {
		case "add":
			role := token.RoleOperator
			if len(rest) > 1 {
				role = token.OperatorRole(rest[1])
			}
			if !slices.Contains(token.OperatorRoles(), role) {
				return usageError(fmt.Sprintf("consign admin add: unknown role %q; the roles are operator, auditor and helpdesk", role))
			}
			if err := a.Identity.AddOperator(ctx, env.actor(), rest[0], role); err != nil {
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
			row("UID", "ADDRESS", "NAME", "ROLE", "SINCE", "SECOND FACTOR")
			for _, o := range all {
				factor := "yes"
				if !o.HasFactor {
					factor = "no: the console refuses"
				}
				row(o.Person, o.Address, o.Name, o.Role, minute(o.AddedAt), factor)
			}
		})
	})
}
