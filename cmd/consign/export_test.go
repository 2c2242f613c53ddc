package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// auditAction is an audit entry of an export.
type auditAction struct{ Action string }

// TestPersonExportAndDelete exports all data of a person, then deletes it.
func TestPersonExportAndDelete(t *testing.T) {
	t.Parallel()
	environ := external(t, pgtest.URL(t))
	do := runOperator(t, environ)
	do("person", "create", "--name", "Ann", "--locale", "de_DE", "ann@example.com")
	do("mailbox", "create", "ann@example.com", "ann-files")
	uid := strings.TrimSpace(strings.TrimPrefix(do("org", "create", "Acme Ltd."), "uid: "))
	do("org", "member", uid, "ann@example.com", "--roles", "Organization.Admin")

	var out struct {
		Name, Locale string
		Emails       []struct {
			Address  string
			Verified bool
		}
		Membership *struct {
			Name  string
			Roles []string
		}
		Mailbox        *struct{ VanityLink string }
		Authenticators []struct{ Type string }
		Transfers      []struct{ UID string }
		Audit          []auditAction
	}
	text := do("person", "export", "ANN@example.com")
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if out.Name != "Ann" || out.Locale != "de_DE" || len(out.Emails) != 1 || out.Emails[0].Address != "ann@example.com" ||
		!out.Emails[0].Verified ||
		out.Membership == nil || out.Membership.Name != "Acme Ltd." || !slices.Equal(out.Membership.Roles, []string{"Organization.Admin"}) ||
		out.Mailbox == nil || out.Mailbox.VanityLink != "ann-files" || len(out.Authenticators) != 1 || out.Authenticators[0].Type != "bcrypt" {
		t.Errorf("exported %s", text)
	}
	if !slices.ContainsFunc(out.Audit, func(a auditAction) bool { return a.Action == "person.create" }) {
		t.Errorf("the audit is %+v", out.Audit)
	}
	if !strings.Contains(text, "\n  \"requests\": [],\n  \"audit\": [\n    {\n      \"at\":") ||
		!strings.HasSuffix(text, "\n    }\n  ]\n}\n") {
		t.Errorf("not indented as the rest: %s", text)
	}
	if strings.Contains(text, "$2a$") {
		t.Error("the hash of the password is exported")
	}

	if _, _, err := consign(t.Context(), environ, "person", "delete", "ann@example.com"); !errors.Is(err, identity.ErrLastAdmin) {
		t.Errorf("the last administrator: %v", err)
	}
	do("person", "create", "bob@example.com")
	do("org", "member", uid, "bob@example.com", "--roles", "Organization.Admin")
	do("person", "delete", "ann@example.com")
	for _, action := range []string{"show", "export", "delete"} {
		if _, _, err := consign(t.Context(), environ, "person", action, "ann@example.com"); !errors.Is(err, identity.ErrPersonNotFound) {
			t.Errorf("person %s of nobody: %v", action, err)
		}
	}
	do("person", "create", "ann@example.com") // the address is free again
}
