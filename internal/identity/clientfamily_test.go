package identity_test

import (
	"testing"

	"github.com/consign-dev/consign/internal/identity"
)

func TestClientFamily(t *testing.T) {
	t.Parallel()
	for userAgent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0": "Firefox, Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 " +
			"Safari/537.36": "Chrome, Windows",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 " +
			"Edg/142.0.0.0": "Edge, Windows",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 " +
			"Safari/604.1": "Safari, iPhone",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile " +
			"Safari/537.36": "Chrome, Android",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 " +
			"Safari/605.1.15": "Safari, macOS",
		"curl/8.14.1": "curl", "Go-http-client/1.1": "Go-http-client", "python-requests/2.32.5": "python-requests", "tool": "tool", "": "",
	} {
		if got := identity.ClientFamily(userAgent); got != want {
			t.Errorf("%q is %q, want %q", userAgent, got, want)
		}
	}
}
