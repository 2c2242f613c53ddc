package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// TestOrganizations creates, changes and reads an organization with an operator's commands.
func TestOrganizations(t *testing.T) {
	t.Parallel()
	environ := external(t, pgtest.URL(t))
	do := runOperator(t, environ)
	refused := func(want error, args ...string) {
		t.Helper()
		if _, _, err := consign(t.Context(), environ, args...); !errors.Is(err, want) {
			t.Errorf("consign %s: %v, want %v", strings.Join(args, " "), err, want)
		}
	}
	do("migrate", "up")
	uid := strings.TrimSpace(strings.TrimPrefix(do("org", "create", "Acme Ltd.", "--locale", "de_DE", "--time-zone", "Europe/Berlin"),
		"uid: "))
	do("org", "host", uid, "files.acme.test")
	do("person", "create", "--name", "Ann", "ann@example.com")
	do("org", "member", "files.acme.test", "ann@example.com", "--roles", "Organization.Admin,Service.Transfer.Use")
	do("org", "set", "ann@example.com", "city=Berlin", "mfaRequired=on", "externalUid=crm-1")
	do("org", "limits", uid, "users=7", "transferVolumeGb=1.5", "newTransferDrainRate=1/30", "changeHostname=custom", "serviceEnabled=off")
	do("org", "subscribe", uid, "--domain", "skp", "--product", "business")
	do("org", "subscribe", uid, "--domain", "spaces")
	do("person", "limits", "ann@example.com", "uploadVolumeGb=3")
	shown := do("org", "show", "FILES.acme.test")
	for _, want := range []string{
		`uid +` + uid, `name +Acme Ltd\.`, `mfaRequired +true`, `externalUid +crm-1`, `hostname +files\.acme\.test`, `users +7\n`,
		`transferVolumeGb +1\.5\n`,
		`serviceEnabled +false`, `storageVolumeGb +1000000000\n`, `newTransferDrainRate +0\.0333`, `changeHostname +custom`,
		`subscription +skp business \(business\) active`, `subscription +spaces without product active`,
		`member +[0-9a-f-]{36} ann@example\.com: Organization\.Admin, Service\.Transfer\.Use`,
	} {
		if !regexp.MustCompile(want).MatchString(shown) {
			t.Errorf("%s is missing:\n%s", want, shown)
		}
	}
	if shown := do("org", "show", "free"); !regexp.MustCompile(`users +100000\n`).MatchString(shown) ||
		!regexp.MustCompile(`hostname +localhost`).MatchString(shown) {
		t.Errorf("the free organization is %s", shown)
	}
	if key := do("invitation", "create", "--shared"); !regexp.MustCompile(`^key: [A-Za-z0-9_-]{22,}\n$`).MatchString(key) {
		t.Errorf("the invitation is %q", key)
	}
	do("invitation", "create", "--shared", uid, "--roles", "Service.Transfer.Use")
	refused(identity.ErrSharedRoles, "invitation", "create", "--shared", "--roles", "Organization.Admin")
	do("person", "create", "--unverified", "bob@example.com")
	refused(identity.ErrMemberNotVerified, "org", "member", uid, "bob@example.com", "--roles", "Organization.Admin")
	refused(identity.ErrLastAdmin, "org", "member", uid, "ann@example.com", "--remove")
	refused(identity.ErrLastAdmin, "org", "member", uid, "ann@example.com", "--roles", "Contract.Read")
	refused(identity.ErrMemberElsewhere, "org", "member", "free", "ann@example.com")
	refused(identity.ErrOrganizationNotFound, "org", "show", "nobody.test")
	refused(identity.ErrPersonNotFound, "org", "member", uid, "eve@example.com")
	refused(identity.ErrHostnameRefused, "org", "host", uid, "localhost")
	for _, args := range [][]string{
		{"org", "limits", uid, "users=-1"}, {"org", "limits", uid, "user=1"}, {"org", "limits", uid, "changeHostname=all"},
		{"org", "limits", uid, "newTransferDrainRate=1/0"},
		{"org", "limits", "free", "users=default"}, {"org", "set", uid, "hostname=x.test"}, {"org", "set", uid, "timeZone=Mars"},
		{"org", "subscribe", uid, "--domain", "drive"},
		{"org", "subscribe", uid, "--domain", "skp", "--status", "gone"}, {"org", "subscribe", uid, "--domain", "skp", "--name", "Business"},
		{"person", "limits", "ann@example.com", "uploadVolumeGb=lots"}, {"org", "member", uid, "ann@example.com", "--roles", "Root"},
	} {
		if _, _, err := consign(t.Context(), environ, args...); err == nil {
			t.Errorf("consign %s succeeded", strings.Join(args, " "))
		}
	}
	for assignment, want := range map[string]string{"city": "write name=value",
		"town=Berlin": "there are mfaRequired, addressLine1, addressLine2, city"} {
		if _, _, err := consign(t.Context(), environ, "org", "set", uid, assignment); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("consign org set %s: %v, want %q", assignment, err, want)
		}
	}
	for _, args := range [][]string{{"org"}, {"org", "list"}, {"org", "show"}, {"org", "set", uid}, {"org", "host", uid},
		{"org", "member", uid}, {"org", "subscribe", uid}, {"invitation", "create"}} {
		if _, _, err := consign(t.Context(), environ, args...); !errors.As(err, new(usageError)) {
			t.Errorf("consign %s: %v, want how it is used", strings.Join(args, " "), err)
		}
	}
}
