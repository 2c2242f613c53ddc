// Checks of the public URL from outside: certificate, trusted proxies, forwarding headers, large bodies, and the admin listener.

package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/doctor/probe"
)

const (
	// forgedAddress and forgedHost are what the second question claims. Both belong to documentation (RFC 5737, RFC 2606).
	forgedAddress, forgedHost = "192.0.2.77", "forged.invalid"
	// bodyBytes is the size of the body that a proxy must pass on: more than the usual limits of 1 MiB, within probe.MaxBody.
	bodyBytes = 3 << 20
	askTime   = 8 * time.Second // for one question
)

// answered is what came back from the public URL.
type answered struct {
	err    error // no answer
	status int
	known  bool // the answer is from a server with our secret key
	answer probe.Answer
	date   time.Time // of the header Date; zero: none
	at     time.Time // when the answer came, by our clock
	state  *tls.ConnectionState
}

// ask asks the server at the public URL without forged headers.
func (r *run) ask(ctx context.Context) answered { return r.question(ctx, nil, nil) }

// question sends one question.
func (r *run) question(ctx context.Context, header http.Header, body []byte) (a answered) {
	if r.Sealer == nil {
		return answered{err: errors.New("there is no secret key to ask with")}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.PublicURL.String(), "/")+probe.Path, bytes.NewReader(body))
	if err != nil {
		return answered{err: err}
	}
	for name, values := range header {
		request.Header[name] = values
	}
	question := probe.Question(r.Sealer, r.Now())
	request.Header.Set(probe.Header, question)
	request.Header.Set("Origin", "https://"+r.PublicURL.Host)
	if body != nil { // a refusal comes before the body, and not as a broken connection
		request.Header.Set("Expect", "100-continue")
	}
	transport := &http.Transport{TLSClientConfig: r.tlsConfig(), DisableKeepAlives: true, ForceAttemptHTTP2: true,
		ExpectContinueTimeout: 2 * time.Second}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return answered{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	a.status, a.at, a.state = response.StatusCode, r.Now(), response.TLS
	a.date, _ = http.ParseTime(response.Header.Get("Date"))
	raw, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		a.err = err
		return a
	}
	a.known = json.Unmarshal(raw, &a.answer) == nil && probe.Proves(r.Sealer, question, a.answer.Proof)
	return a
}

func (r *run) tlsConfig() *tls.Config {
	return &tls.Config{RootCAs: r.Roots, ServerName: r.PublicURL.Hostname(), MinVersion: tls.VersionTLS12, Time: r.Now}
}

// publicURL: the public URL leads from here to this installation.
func (r *run) publicURL(context.Context) []Finding {
	a, u := r.asked(), r.PublicURL
	var name *net.DNSError
	switch {
	case errors.As(a.err, &name):
		return found("public-url.name", Error, "Make a DNS record for "+u.Hostname()+", or correct CONSIGN_PUBLIC_URL.",
			"The name %s of the public URL is not found: %s.", u.Hostname(), short(name))
	case certificateTrouble(a.err):
		return found("public-url.tls", Error, "See the finding of the check tls.",
			"The public URL %s is not reached, because its certificate is refused.", u)
	case a.err != nil:
		return found("public-url.unreachable", Error,
			"Start the server and its proxy, and let this machine connect to that address. A router that does not lead back inside only hides it "+
				"from here: then ask from outside.",
			"The public URL %s does not answer: %s.", u, short(a.err))
	case a.status >= 300 && a.status < 400:
		return found("public-url.redirect", Error, "Set CONSIGN_PUBLIC_URL to the address where the server answers itself.",
			"The public URL %s answers with a redirect (%d).", u, a.status)
	case !a.known:
		return found("public-url.other", Error,
			"Compare CONSIGN_PUBLIC_URL, CONSIGN_SECRET_KEY and the routes of the proxy. A server that is older than this program also answers so.",
			"Something answers at %s (status %d), but not a Consign with this secret key.", u, a.status)
	case u.Hostname() == "localhost":
		return found("public-url.localhost", Hint, "Set CONSIGN_PUBLIC_URL before others use this server.",
			"The public URL is %s, which only this machine can open.", u)
	}
	return fine("public-url", "%s leads to this installation.", u)
}

// settings: this program and the server that answers have the same settings. A command with others checks what nobody uses.
func (r *run) settings(context.Context) []Finding {
	a := r.asked()
	if !a.known || len(a.answer.Settings) == 0 {
		return found("settings.skipped", Hint, "See the check public-url.",
			"These settings have the fingerprint %s. Whether the server has the same is not known, because it does not answer.", r.Fingerprint)
	}
	var shared, own []string
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		switch {
		case a.answer.Settings[name] == r.Settings[name]:
		case r.OwnSettings[name]:
			own = append(own, name)
		default:
			shared = append(shared, name)
		}
	}
	var all []Finding
	if len(shared) > 0 {
		all = found("settings.differ", Error,
			"Restart the server if you changed them. Run commands by consign-admin, or with --env-file and the file of the service.",
			"The server that answers at the public URL has other values of %s than this program: what is checked here is not what the server uses.",
			strings.Join(shared, ", "))
	}
	if len(own) > 0 {
		all = append(all, found("settings.replica", Hint, "Nothing, if another replica answered.",
			"The server that answers at the public URL has other values of %s than this program.", strings.Join(own, ", "))...)
	}
	if len(all) == 0 {
		return fine("settings", "The server has the same settings as this program: fingerprint %s.", r.Fingerprint)
	}
	return all
}

// certificateTrouble reports whether a connection failed because of the server's certificate.
func certificateTrouble(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError))
}

// tls: the certificate of the public host is valid, and for how long.
func (r *run) tls(context.Context) []Finding {
	u := r.PublicURL
	if u.Scheme != "https" {
		if u.Hostname() == "localhost" {
			return found("tls.none", Hint, "Use https before others use this server.", "The public URL has no TLS.")
		}
		return found("tls.none", Error, "Put a proxy with TLS in front of the server and begin CONSIGN_PUBLIC_URL with https://.",
			"The public URL %s has no TLS: browsers store no session there, and everybody on the way reads along.", u)
	}
	a := r.asked()
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(a.err, &invalid) && invalid.Reason == x509.Expired:
		end := invalid.Cert.NotAfter
		if r.Now().Before(invalid.Cert.NotBefore) {
			return found("tls.early", Error, "Compare the clock of this machine; see the check clock.",
				"The certificate of %s is valid only from %s on.", u.Hostname(), invalid.Cert.NotBefore.UTC().Format(time.DateTime))
		}
		return found("tls.expired", Error, "Renew the certificate, and find out why nothing renewed it.",
			"The certificate of %s has expired on %s.", u.Hostname(), end.UTC().Format(time.DateTime))
	case errors.As(a.err, &host):
		return found("tls.name", Error, "Get a certificate for "+u.Hostname()+".", "The certificate at the public URL is for another name: %s.",
			short(host))
	case errors.As(a.err, &unknown):
		return found("tls.untrusted", Error,
			"Send the whole chain, and use an authority that browsers trust. If it is your own, install it on this machine, too.",
			"The certificate of %s is from an authority that this machine does not trust.", u.Hostname())
	case certificateTrouble(a.err):
		return found("tls.refused", Error, "Replace the certificate.", "The certificate of %s is refused: %s.", u.Hostname(), short(a.err))
	case a.err != nil || a.state == nil || len(a.state.PeerCertificates) == 0:
		return found("tls.skipped", Hint, "See the check public-url.", "Not checked, because the public URL does not answer.")
	}
	leaf := a.state.PeerCertificates[0]
	left, life := leaf.NotAfter.Sub(r.Now()), leaf.NotAfter.Sub(leaf.NotBefore)
	if left < min(14*24*time.Hour, life/4) {
		return found("tls.soon", Warning, "Find out why it was not renewed.", "The certificate of %s ends in %d days, on %s.", u.Hostname(),
			int(left.Hours()/24), leaf.NotAfter.UTC().Format(time.DateTime))
	}
	return fine("tls", "The certificate of %s is valid until %s.", u.Hostname(), leaf.NotAfter.UTC().Format(time.DateOnly))
}

// proxies: the list of trusted proxies is neither missing nor too wide.
func (r *run) proxies(context.Context) []Finding {
	for _, p := range r.TrustedProxies {
		if most := map[bool]int{true: 8, false: 16}[p.Addr().Is4()]; p.Bits() < most {
			return found("proxies.wide", Error, "List the addresses of your proxies only.",
				"CONSIGN_TRUSTED_PROXIES has %s: nearly everybody can claim any client address.", p)
		}
	}
	switch {
	case len(r.TrustedProxies) == 0 && r.RequireHTTPS && !r.OwnTLS:
		return found("proxies.none", Error, "List the proxy's address in CONSIGN_TRUSTED_PROXIES, or let this server end TLS (CONSIGN_TLS_CERT).",
			"Neither a trusted proxy nor this server ends TLS: every request is refused with 403.")
	case len(r.TrustedProxies) == 0:
		return fine("proxies", "No proxy is trusted, and none is needed.")
	}
	return fine("proxies", "%d addresses of proxies are trusted.", len(r.TrustedProxies))
}

// proxy: what arrives at the server, with honest headers, with forged ones, and with a large body.
func (r *run) proxy(ctx context.Context) []Finding {
	a := r.asked()
	if a.err != nil || !a.known {
		return found("proxy.skipped", Hint, "See the check public-url.",
			"Not checked, because no server of this installation answers at the public URL.")
	}
	all := r.arrived(a.answer)
	forged := r.question(ctx, http.Header{"X-Forwarded-For": {forgedAddress}, "X-Forwarded-Host": {forgedHost}}, nil)
	if forged.known {
		all = append(all, r.forged(a.answer, forged.answer)...)
	}
	all = append(all, r.largeBody(ctx)...)
	if len(all) == 0 && !a.answer.Trusted {
		return fine("proxy", "Requests arrive directly, without a proxy, from %s.", a.answer.Address)
	}
	if len(all) == 0 {
		return fine("proxy", "The proxy sends address, host and scheme, overwrites forged ones, and lets large bodies through.")
	}
	return all
}

// arrived judges a request without forged headers.
func (r *run) arrived(a probe.Answer) (all []Finding) {
	peer := a.Peer
	if pair, err := netip.ParseAddrPort(a.Peer); err == nil {
		peer = pair.Addr().Unmap().String()
	}
	forwarded := len(a.ForwardedFor) + len(a.ForwardedHost) + len(a.ForwardedProto)
	https := r.PublicURL.Scheme == "https"
	switch {
	case !a.Trusted && (forwarded > 0 || https && !a.HTTPS):
		all = found("proxy.untrusted", Error, "If "+peer+" is your proxy, add it to CONSIGN_TRUSTED_PROXIES.",
			"Requests come through %s, which is not in CONSIGN_TRUSTED_PROXIES: its headers are ignored, and all clients have its address.", peer)
	case https && !a.HTTPS:
		all = found("proxy.proto", Error, "Let the proxy set X-Forwarded-Proto: https.",
			"The proxy %s does not say that requests arrived over TLS: they are refused with 403.", peer)
	case a.Trusted && forwarded > 0 && len(a.ForwardedFor) == 0:
		all = found("proxy.address", Warning, "Let the proxy set X-Forwarded-For to the client's address.",
			"The proxy %s sends no X-Forwarded-For: all clients have its address, and share its rate limits.", peer)
	}
	if host := strings.ToLower(a.Host); host != r.PublicURL.Host && host != r.PublicURL.Hostname() {
		all = append(all, found("proxy.host", Error, "Let the proxy pass the Host header on.",
			"The proxy changes the Host header: %s arrived for %s.", host, r.PublicURL.Host)...)
	}
	if a.Origin == "" {
		all = append(all, found("proxy.origin", Error, "Let the proxy pass the headers Origin and Sec-Fetch-Site on.",
			"The proxy removes the header Origin: people are signed out at once.")...)
	}
	return all
}

// forged judges a request with forged headers, beside an honest one.
func (r *run) forged(honest, a probe.Answer) (all []Finding) {
	list := strings.Join(a.ForwardedFor, ",")
	entries := strings.Split(list, ",")
	last := strings.TrimSpace(entries[len(entries)-1])
	switch {
	case !a.Trusted:
		return nil // nothing of it counts
	case last == forgedAddress:
		all = found("proxy.spoofable", Error,
			"Let the proxy overwrite X-Forwarded-For. If requests come without a proxy, remove that address from CONSIGN_TRUSTED_PROXIES.",
			"X-Forwarded-For of a client arrives unchanged: everybody can claim any address, and evades rate limits.")
	case strings.Contains(list, forgedAddress):
		all = found("proxy.appends", Warning, "Let the proxy overwrite X-Forwarded-For instead of appending to it.",
			"The proxy appends to the X-Forwarded-For of clients: with one trusted address too many, everybody can claim any address.")
	}
	if a.Host == forgedHost && honest.Host != forgedHost {
		all = append(all, found("proxy.host-spoofable", Error, "Let the proxy overwrite X-Forwarded-Host.",
			"X-Forwarded-Host of a client arrives unchanged: everybody can choose the host.")...)
	}
	return all
}

// largeBody sends what a proxy with a limit refuses.
func (r *run) largeBody(ctx context.Context) []Finding {
	a := r.question(ctx, nil, make([]byte, bodyBytes))
	switch {
	case a.known && a.answer.Received == bodyBytes:
		return nil
	case a.status == http.StatusRequestEntityTooLarge:
		return found("proxy.body", Error, "Remove the proxy's limit (nginx: client_max_body_size 0).",
			"The proxy refuses a body of %d MiB with 413: uploads fail.", bodyBytes>>20)
	}
	cause := fmt.Sprintf("status %d", a.status)
	if a.err != nil {
		cause = short(a.err)
	}
	return found("proxy.body", Error, "Remove limits and short timeouts of the proxy.", "A body of %d MiB does not get through: %s.",
		bodyBytes>>20, cause)
}

// admin: metrics and health are not for everybody.
func (r *run) admin(context.Context) []Finding {
	host, _, _ := net.SplitHostPort(r.AdminListen)
	address, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", err == nil && (address.IsLoopback() || address.IsPrivate()):
		return fine("admin", "Metrics are served at %s.", r.AdminListen)
	case host == "", err == nil && address.IsUnspecified():
		return found("admin.open", Hint, "Let the firewall close that port, or set CONSIGN_ADMIN_LISTEN to a private address.",
			"Metrics are served at %s, on all addresses of this machine.", r.AdminListen)
	}
	return found("admin.public", Warning, "Set CONSIGN_ADMIN_LISTEN to a private address.",
		"Metrics are served at %s, which others may reach.", r.AdminListen)
}
