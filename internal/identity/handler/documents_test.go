// Tests of contract documents.

package handler_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.Env("CONSIGN_PROVIDER_NAME", "Provider & Co."))
	path := w.acme.path + "/documents?type=dataProcessing&domain=skp"
	ops := w.s.App.Identity
	w.ann.Get(path).WantError(identity.ErrNoSubscription)
	must(t, ops.Subscribe(t.Context(), testkit.Command, w.acme.uid, service.NewSubscription{Domain: "skp", Status: "past_due"}))
	w.ann.Get(path).WantError(identity.ErrNoSubscription)
	must(t, ops.Subscribe(t.Context(), testkit.Command, w.acme.uid, service.NewSubscription{Domain: "skp"}))
	incomplete := w.ann.Get(path).WantError(identity.ErrProfileIncomplete)
	if !strings.Contains(incomplete.Details(), "city: is missing") || strings.Contains(incomplete.Details(), "name") {
		t.Errorf("details are %s", incomplete.Details())
	}
	must(t, ops.SetOrganization(t.Context(), testkit.Command, w.acme.uid,
		identity.OrganizationChange{AddressLine1: new("1 High Street"), City: new("London"), Country: new("United Kingdom")}))
	file := w.ann.Get(path).Want(http.StatusOK)
	if file.Header.Get("Content-Type") != "application/pdf" ||
		file.Header.Get("Content-Disposition") != `attachment; filename="data-processing-agreement-skp.pdf"` ||
		!bytes.HasPrefix(file.Body, []byte("%PDF-")) {
		t.Errorf("the answer is %v", file.Header)
	}
	for _, name := range []string{"Acme", "1 High Street", "London", "Provider & Co.", "Data Processing Agreement", "Article 28"} {
		if all := extract(t, file.Body); all != "" && !strings.Contains(all, name) {
			t.Errorf("the document does not contain %q", name)
		}
	}

	w.ann.Get(w.acme.path + "/documents").WantError(fault.ErrInvalid)
	w.ann.Get(w.acme.path + "/documents?domain=skp").WantError(fault.ErrInvalid)
	w.ann.Get(w.acme.path + "/documents?type=dataProcessing").WantError(fault.ErrInvalid)
	w.ann.Get(w.acme.path + "/documents?type=dataProcessing&domain=drive").WantError(fault.ErrInvalid)
	w.ann.Get(w.acme.path + "/documents?type=dataProcessing&domain=spaces").WantError(identity.ErrNoSubscription)
	w.ann.Get(w.acme.path + "/documents?type=invoice&domain=skp").WantError(identity.ErrDocumentType)
	w.ann.With("Accept", "text/html").Get(path).WantError(fault.ErrNotAcceptable)
	w.ann.With("Accept", "application/pdf").Get(path).Want(http.StatusOK)

	w.amy.Get(path).WantError(identity.ErrRoleMissing)
	for _, role := range []string{identity.RoleContractRead, identity.RoleContractAdmin} {
		w.ann.Put(w.acme.member(w.amy), map[string]any{"roles": []string{role}}).Want(http.StatusOK)
		useTokens(w.amy, w.amy.As(w.amy.ID).Post(w.s.Identity+"/auth/access", nil).Want(http.StatusOK))
		w.amy.Get(path).Want(http.StatusOK)
	}
	w.s.Stranger().With("Cookie", "acct="+w.amy.Access).Get(path).Want(http.StatusOK)
	w.bob.Get(path).WantError(identity.ErrNotMember)

	must(t, ops.SetOrganization(t.Context(), testkit.Command, w.acme.uid, identity.OrganizationChange{Name: new("Emoji \U0001F9FF Ltd.")}))
	w.ann.Get(path).WantError(identity.ErrProfileIncomplete)
	must(t, ops.SetLimits(t.Context(), testkit.Command, w.acme.uid, identity.LimitsChange{GDPRContract: identity.To(false)}))
	w.ann.Get(path).WantError(identity.ErrNoContract)
}

// TestDocumentInEveryLocale: the document is in the organization's locale.
func TestDocumentInEveryLocale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ops := w.s.App.Identity
	must(t, ops.Subscribe(t.Context(), testkit.Command, w.acme.uid, service.NewSubscription{Domain: "spaces"}))
	seen := map[string]bool{}
	for _, locale := range i18n.Locales() {
		must(t, ops.SetOrganization(t.Context(), testkit.Command, w.acme.uid,
			identity.OrganizationChange{Locale: &locale, AddressLine1: new("1"), City: new("X"), Country: new("Y")}))
		file := w.ann.Get(w.acme.path + "/documents?type=dataProcessing&domain=spaces").Want(http.StatusOK)
		if all := extract(t, file.Body); seen[all] && all != "" {
			t.Errorf("the document in %s equals that of another locale", locale)
		} else {
			seen[all] = true
		}
	}
}

// extract returns the text of a PDF file as pdftotext reads it. It is empty where pdftotext is not installed.
func extract(t *testing.T, file []byte) string {
	t.Helper()
	tool, err := exec.LookPath("pdftotext")
	if err != nil {
		return ""
	}
	name := filepath.Join(t.TempDir(), "d.pdf")
	must(t, os.WriteFile(name, file, 0o600))
	out, err := exec.CommandContext(t.Context(), tool, name, "-").Output()
	must(t, err)
	return string(out)
}
