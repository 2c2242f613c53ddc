package httpserver

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/consign-dev/consign/internal/doctor/probe"
	"github.com/consign-dev/consign/internal/httpapi"
)

// probed answers consign doctor, which asks how its request arrived (contract 1.16), and reports whether it did. Who does not have the
// secret key gets the answer of any unknown path. The answer comes before the rules that a wrong proxy violates.
func (s *Server) probed(x *exchange, r *http.Request, f forwarding) bool {
	question := r.Header.Get(probe.Header)
	if r.URL.Path != probe.Path || question == "" || !probe.Valid(s.sealer, question, s.now()) {
		return false
	}
	x.route, x.probe = probe.Path, true
	defer x.takeBody(r, httpapi.StreamBody)()
	received, err := io.Copy(io.Discard, io.LimitReader(r.Body, probe.MaxBody))
	if err != nil {
		x.Fail(r, err)
		return true
	}
	address := ""
	if f.address.IsValid() { // not over a unix socket
		address = f.address.String()
	}
	used, limit := s.memory()
	a := probe.Answer{
		Proof: probe.Proof(s.sealer, question), Peer: r.RemoteAddr, Trusted: x.trusted, Address: address, Host: f.host, HTTPS: f.https,
		ForwardedFor: r.Header["X-Forwarded-For"], ForwardedHost: r.Header["X-Forwarded-Host"], ForwardedProto: r.Header["X-Forwarded-Proto"],
		Origin: r.Header.Get("Origin"), Received: received, OpenFiles: probe.OpenFiles(), Time: s.now().UTC(),
		Settings: s.settings, MemoryUsed: used, MemoryLimit: limit,
	}
	raw, err := json.Marshal(a)
	if err != nil {
		x.Fail(r, err)
		return true
	}
	x.Header().Set("Content-Type", "application/json")
	_, _ = x.Write(raw)
	return true
}
