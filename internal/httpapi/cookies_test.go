package httpapi_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
)

// TestHostCookie: cookies are Secure and have the prefix __Host- everywhere but on http://localhost.
func TestHostCookie(t *testing.T) {
	t.Parallel()
	const secure, plain = "__Host-thing=v; Path=/; HttpOnly; Secure; SameSite=Strict", "thing=v; Path=/; HttpOnly; SameSite=Strict"
	for public, want := range map[string]string{
		"https://files.example.com": secure, "https://localhost": secure, "http://files.example.com": secure, "http://127.0.0.1:8080": secure,
		"http://localhost.example.com": secure, "http://localhost": plain, "http://localhost:8080": plain,
	} {
		u, err := url.Parse(public)
		if err != nil {
			t.Fatal(err)
		}
		if got := httpapi.HostCookie("thing", "v", httpapi.SecureCookies(u), http.SameSiteStrictMode).String(); got != want {
			t.Errorf("at %s the cookie is %s, want %s", public, got, want)
		}
	}
}
