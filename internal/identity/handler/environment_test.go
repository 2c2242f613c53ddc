// Tests of GET /environment and of the catalogues.

package handler_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_PROVIDER_NAME", "Provider"), testkit.Env("CONSIGN_SUPPORT_CONTACT", "help@example.com"),
		testkit.Env("CONSIGN_RATE_LIMIT", "on"))
	ann := s.SignUp("ann@example.com")
	acme := createOrganization(ann, "Acme")
	must(t, s.App.Identity.SetHostname(t.Context(), testkit.Command, acme.uid, "old.acme.test"))
	must(t, s.App.Identity.SetHostname(t.Context(), testkit.Command, acme.uid, "files.acme.test"))
	must(t, s.App.Identity.SetLimits(t.Context(), testkit.Command, acme.uid,
		identity.LimitsChange{TransferVolumeGB: identity.To(2.5), NewTransferDrainRate: identity.To(1.0 / 30),
			ChangeHostname: identity.To("custom")}))
	ann.Put(acme.path+"/theme", map[string]any{"primaryColor": "#112233"}).Want(http.StatusOK)
	ann.With("Content-Type", "image/png").Put(acme.path+"/avatar", picture(t, 300, 200)).Want(http.StatusOK)

	free := s.Stranger().Get(s.Identity + "/environment").Want(http.StatusOK)
	if free.String("baseUrlId") != s.URL+s.Identity || free.String("baseUrlSkp") != s.URL+s.Transfer || free.String("baseUrlDrive") != "" ||
		free.Value("onPremises") != true ||
		free.String("productName") != "Consign" || free.String("providerName") != "Provider" ||
		free.String("supportContact") != "help@example.com" ||
		free.String("organizationProfile.name") != "Consign" || free.String("organizationProfile.hostname") != "localhost" ||
		free.Number("limitations.users") != 100_000 || free.Number("limitations.transferVolumeGb") != identity.UnlimitedGB ||
		free.Number("limitations.storageVolumeGb") != identity.UnlimitedGB ||
		free.String("limitations.changeHostname") != "noChange" ||
		len(free.Value("availableLocales").([]any)) != 8 || free.String("oidcSettings.redirectUrl") != s.URL+s.Identity+"/oidc/auth/form" ||
		free.Value("limitations.serviceEnabled") != true || free.Value("limitations.secureSpaces") != false ||
		free.Number("limitations.mailboxGroups") != 10 {
		t.Errorf("the environment is %s", free.Body)
	}
	if free.Header.Get("Cache-Control") != "max-age=600" || free.Header.Get("X-RateLimit-Limit") != "" {
		t.Errorf("headers are %v", free.Header)
	}
	for _, alias := range []string{"/.well-known/consign-environment", s.Identity + "/.well-known/consign-environment"} {
		if got := s.Stranger().Get(alias).Want(http.StatusOK); string(got.Body) != string(free.Body) ||
			got.Header.Get("ETag") != free.Header.Get("ETag") {
			t.Errorf("%s answers %s", alias, got.Body)
		}
	}
	for _, tag := range []string{free.Header.Get("ETag"), `"x", ` + free.Header.Get("ETag"), "W/" + free.Header.Get("ETag"), "*"} {
		not := s.Stranger().With("If-None-Match", tag).Get(s.Identity + "/environment").Want(http.StatusNotModified)
		if not.Header.Get("ETag") != free.Header.Get("ETag") || not.Header.Get("Cache-Control") != "max-age=600" || len(not.Body) != 0 {
			t.Errorf("with %s: %v %s", tag, not.Header, not.Body)
		}
	}
	s.Stranger().With("If-None-Match", `"other"`).Get(s.Identity + "/environment").Want(http.StatusOK)
	s.Stranger().With("Accept", "text/html").Get(s.Identity + "/environment").WantError(fault.ErrNotAcceptable)
	s.Stranger().As("nonsense").Get(s.Identity + "/environment").Want(http.StatusOK)

	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	for _, host := range []string{"files.acme.test", "old.acme.test", "FILES.acme.test"} {
		var own *testkit.Response
		poll.Until(t, "the environment at "+host+" knows all changes", func() bool {
			own = s.Stranger().With("Host", host).Get(s.Identity + "/environment").Want(http.StatusOK)
			return !slices.ContainsFunc([]string{acme.uid, "old.acme.test", "/assets/theme", "/assets/logo"},
				func(part string) bool { return !strings.Contains(string(own.Body), part) })
		})
		if own.String("baseUrlId") != "http://files.acme.test"+port+s.Identity ||
			own.String("organizationProfile.hostname") != "files.acme.test" ||
			own.String("organizationProfile.inactiveHostnames.0") != "old.acme.test" || own.Number("limitations.users") != 100 ||
			own.Number("limitations.transferVolumeGb") != 2.5 || own.Number("limitations.newTransferDrainRate") != 1.0/30 ||
			own.String("limitations.orgUid") != acme.uid ||
			own.String("limitations.changeHostname") != "custom" || own.Header.Get("ETag") == free.Header.Get("ETag") {
			t.Errorf("at %s the environment is %s", host, own.Body)
		}
		for i, kind := range []string{"logo", "theme"} {
			prefix := "organizationProfile.assets." + string(rune('0'+i))
			if own.String(prefix+".type") != kind || !strings.HasPrefix(own.String(prefix+".url"),
				"http://files.acme.test"+port+s.Identity+"/assets/"+kind+"?v=") {
				t.Errorf("assets are %s", own.Body)
			}
		}
	}
	at := s.Stranger().With("Host", "files.acme.test")
	if logo := at.Get(s.Identity + "/assets/logo?height=100").Want(http.StatusOK); logo.Header.Get("Content-Type") != "image/jpeg" ||
		size(t, logo.Body) != 80 {
		t.Errorf("the logo is %v", logo.Header)
	}
	if theme := at.Get(s.Identity + "/assets/theme").Want(http.StatusOK); theme.String("primaryColor") != "#112233" {
		t.Errorf("the theme is %s", theme.Body)
	}
	s.Stranger().Get(s.Identity + "/assets/logo").WantError(identity.ErrAvatarNotFound)
	s.Stranger().Get(s.Identity + "/assets/theme").WantError(identity.ErrThemeNotFound)
	for range 200 { // no bucket
		s.Stranger().Get(s.Identity + "/environment").Want(http.StatusOK)
	}
}

func TestBundles(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for _, locale := range i18n.Locales() {
		path := s.Identity + "/i18n/" + locale
		jed := s.Stranger().Get(path).Want(http.StatusOK)
		if jed.Header.Get("Content-Type") != "application/json" || jed.String("domain") != "messages" ||
			jed.Value("locale_data.messages") == nil {
			t.Errorf("%s: %v %.100s", locale, jed.Header, jed.Body)
		}
		po := s.Stranger().With("Accept", "text/x-gettext-translation").Get(path).Want(http.StatusOK)
		if po.Header.Get("Content-Type") != "text/x-gettext-translation; charset=utf-8" ||
			!strings.Contains(string(po.Body), "\"Language: "+locale+`\n"`) ||
			!slices.Contains(po.Header.Values("Vary"), "Accept") || po.Header.Get("Cache-Control") != "private, max-age=600" {
			t.Errorf("%s: %v %.100s", locale, po.Header, po.Body)
		}
		if po.Header.Get("ETag") == jed.Header.Get("ETag") {
			t.Error("both formats have the same ETag")
		}
		s.Stranger().With("If-None-Match", jed.Header.Get("ETag")).Get(path).Want(http.StatusNotModified)
	}
	preferred := s.Stranger().With("Accept", "application/json;q=0.5, text/x-gettext-translation").Get(s.Identity + "/i18n/de_DE").Want(
		http.StatusOK)
	if !strings.HasPrefix(preferred.Header.Get("Content-Type"), "text/x-gettext-translation") {
		t.Errorf("the quality values of Accept are ignored: %v", preferred.Header)
	}
	s.Stranger().With("Accept", "text/html").Get(s.Identity + "/i18n/de_DE").WantError(fault.ErrNotAcceptable)
	for _, locale := range []string{"de", "de-DE", "DE_de", "xx_XX", "..%2fde_DE"} {
		s.Stranger().Get(s.Identity + "/i18n/" + locale).WantError(identity.ErrLocaleNotFound)
	}
}
