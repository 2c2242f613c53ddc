package token

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/clock"
)

// TestTokenKinds sends every kind of token to routes for every kind. A route accepts its own kind only.
func TestTokenKinds(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	needs := map[Kind]Auth{
		KindID: NeedID, KindMFA: NeedMFA, KindAccess: NeedAccess, KindPickup: NeedPickup, KindPreflight: NeedPreflight,
		KindUID: NeedUID, KindReservation: NeedReservation, KindDownload: NeedDownload,
	}
	for _, sent := range allKinds {
		raw := r.issue(t, sent, claimsOf(sent))
		for _, wanted := range allKinds {
			for _, a := range []Auth{needs[wanted], needs[wanted].Optional(), needs[wanted].WithCookie()} {
				c, err := r.verifier.Authenticate(request(t, "Bearer "+raw, ""), a)
				if sent == wanted && (err != nil || c.Kind != sent) {
					t.Errorf("%s on a route for %s: %v", sent, a, err)
				}
				if sent != wanted && !errors.Is(err, ErrKind) {
					t.Errorf("%s on a route for %s: %v, want ErrKind", sent, a, err)
				}
			}
			if c, err := r.verifier.Authenticate(request(t, "", raw), needs[wanted].WithCookie()); (err == nil) != (sent == wanted &&
				sent == KindAccess) {
				t.Errorf("%s as cookie on a route for %s: %v, %v", sent, wanted, c.Kind, err)
			}
		}
	}
}

// request returns a request with an Authorization header and the cookie acct. Empty: without.
func request(t *testing.T, authorization, cookie string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	if cookie != "" {
		r.AddCookie(AcctCookie(cookie, time.Now().Add(time.Hour), true))
	}
	client := Client{Address: netip.MustParseAddr("192.0.2.7"), UserAgent: "curl"}
	return r.WithContext(WithCaller(r.Context(), Caller{Client: client}))
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	access := r.issue(t, KindAccess, claimsOf(KindAccess))
	level0, noFactor, signup := claimsOf(KindAccess), claimsOf(KindAccess), claimsOf(KindID)
	level0.AuthLevel, noFactor.FactorRequired, signup.AuthLevel = 0, true, 0
	unverifiedRaw, noFactorRaw, signupRaw := r.issue(t, KindAccess, level0), r.issue(t, KindAccess, noFactor), r.issue(t, KindID, signup)
	reservation := r.issue(t, KindReservation, claimsOf(KindReservation))
	for name, tc := range map[string]struct {
		auth           Auth
		header, cookie string
		want           error
		kind           Kind
	}{
		"none, no token":            {None, "", "", nil, ""},
		"none, malformed token":     {None, "Bearer x", "", nil, ""},
		"none, valid token":         {None, "Bearer " + access, "", nil, ""},
		"access":                    {NeedAccess, "Bearer " + access, "", nil, KindAccess},
		"scheme in any case":        {NeedAccess, "bearer  " + access, "", nil, KindAccess},
		"no token":                  {NeedAccess, "", "", ErrMissing, ""},
		"other scheme":              {NeedAccess, "Basic " + access, "", ErrInvalid, ""},
		"no scheme":                 {NeedAccess, access, "", ErrInvalid, ""},
		"scheme alone":              {NeedAccess, "Bearer", "", ErrInvalid, ""},
		"optional, no token":        {NeedAccess.Optional(), "", "", nil, ""},
		"optional, malformed":       {NeedAccess.Optional(), "Bearer x", "", ErrInvalid, ""},
		"others ignored, other":     {NeedReservation.IgnoreOthers(), "Bearer " + access, "", nil, ""},
		"others ignored, malformed": {NeedReservation.IgnoreOthers(), "Bearer x", "", ErrInvalid, ""},
		"others ignored, right one": {NeedReservation.IgnoreOthers(), "Bearer " + reservation, "", nil, KindReservation},
		"any of two, first":         {AnyOf(NeedAccess, NeedReservation), "Bearer " + access, "", nil, KindAccess},
		"any of two, second":        {AnyOf(NeedAccess, NeedReservation), "Bearer " + reservation, "", nil, KindReservation},
		"cookie not accepted":       {NeedAccess, "", access, ErrMissing, ""},
		"cookie":                    {NeedAccess.WithCookie(), "", access, nil, KindAccess},
		"header wins":               {NeedAccess.WithCookie(), "Bearer x", access, ErrInvalid, ""},
		"malformed cookie":          {NeedAccess.WithCookie(), "", "x", ErrInvalid, ""},
		"unverified":                {NeedAccess, "Bearer " + unverifiedRaw, "", ErrUnverified, KindAccess},
		"unverified allowed":        {NeedAccess.Unverified(), "Bearer " + unverifiedRaw, "", nil, KindAccess},
		"unverified optional":       {NeedAccess.Optional(), "Bearer " + unverifiedRaw, "", ErrUnverified, KindAccess},
		"signup token":              {NeedID, "Bearer " + signupRaw, "", nil, KindID},
		"signup token, verified":    {NeedID.Verified(), "Bearer " + signupRaw, "", ErrUnverified, KindID},
		"no factor":                 {NeedAccess, "Bearer " + noFactorRaw, "", ErrFactorRequired, KindAccess},
		"no factor, unverified":     {NeedAccess.Unverified(), "Bearer " + noFactorRaw, "", ErrFactorRequired, KindAccess},
		"no factor allowed":         {NeedAccess.WithoutFactor(), "Bearer " + noFactorRaw, "", nil, KindAccess},
		"reservation has no level":  {NeedReservation, "Bearer " + reservation, "", nil, KindReservation},
		"other kind":                {NeedAccess, "Bearer " + reservation, "", ErrKind, KindReservation},
	} {
		c, err := r.verifier.Authenticate(request(t, tc.header, tc.cookie), tc.auth)
		if !errors.Is(err, tc.want) || err != nil && tc.want == nil || c.Kind != tc.kind {
			t.Errorf("%s: Authenticate = %q, %v; want %q, %v", name, c.Kind, err, tc.kind, tc.want)
		}
		if c.Client.UserAgent != "curl" {
			t.Errorf("%s: the caller's Client is lost", name)
		}
	}
	two := request(t, "Bearer "+access, "")
	two.Header.Add("Authorization", "Bearer "+access)
	if _, err := r.verifier.Authenticate(two, NeedAccess); !errors.Is(err, ErrInvalid) {
		t.Errorf("two headers: %v", err)
	}
}

func TestAuthString(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]Auth{
		"none":                                None,
		"access":                              NeedAccess,
		"access or reservation":               AnyOf(NeedReservation, NeedAccess),
		"uid, optional":                       NeedUID.Optional(),
		"uid, optional, other tokens ignored": NeedUID.IgnoreOthers(),
		"access, cookie, unverified, without factor": NeedAccess.WithCookie().WithoutFactor().Unverified(),
		"id, verified": NeedID.Verified(),
	} {
		if got := a.String(); got != want {
			t.Errorf("String = %q, want %q", got, want)
		}
	}
	if !None.IsOptional() || NeedID.IsOptional() || !NeedID.Optional().IsOptional() || None.Accepts("") || None.Accepts(KindID) {
		t.Error("IsOptional or Accepts is wrong")
	}
	for _, a := range []Auth{NeedAccess, NeedAccess.WithCookie(), NeedAccess.WithSessionCookie()} {
		if a.TakesCookie() != (a == NeedAccess.WithCookie()) || a.TakesSessionCookie() != (a == NeedAccess.WithSessionCookie()) {
			t.Errorf("%s takes a cookie: %v, the session cookie: %v", a, a.TakesCookie(), a.TakesSessionCookie())
		}
	}
}

func TestAcctCookie(t *testing.T) {
	t.Parallel()
	const want = "acct=raw; Path=/; Expires=Fri, 20 Nov 2026 09:30:00 GMT; HttpOnly; Secure; SameSite=Strict"
	if got := AcctCookie("raw", clock.New().Now(), true).String(); got != want {
		t.Errorf("cookie %q, want %q", got, want)
	}
}

func TestCallerInContext(t *testing.T) {
	t.Parallel()
	if c := CallerFrom(t.Context()); !c.Anonymous() {
		t.Errorf("caller of an empty context: %+v", c)
	}
	c := Caller{Kind: KindAccess, Person: id.New[id.Person](), Roles: []string{"Contract.Read"}}
	got := CallerFrom(WithCaller(t.Context(), c))
	if got.Person != c.Person || !got.Has("Contract.Read") || got.Has("Contract.Admin") || got.Anonymous() {
		t.Errorf("CallerFrom = %+v", got)
	}
}

func TestCallerDoesNotLogItsToken(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	for _, c := range []Caller{
		{}, {Kind: KindAccess, Person: id.New[id.Person](), Raw: "secret"},
		{Kind: KindReservation, Reservation: id.New[id.Reservation](), Raw: "secret"},
		{Kind: KindDownload, Delivery: id.New[id.Delivery](), Raw: "secret"},
	} {
		log.Info("x", "caller", c)
		fmt.Fprintf(&out, "%v %+v %s", c, c, c)
	}
	if strings.Contains(out.String(), "secret") {
		t.Error(out.String())
	}
}

// TestOperatorsRoutes: which roles of the console a route admits, and which routes are served in an outage.
func TestOperatorsRoutes(t *testing.T) {
	t.Parallel()
	roles := []OperatorRole{RoleOperator, RoleAuditor, RoleHelpDesk, "other"}
	route := NeedAccess.Operator()
	for name, c := range map[string]struct {
		auth     Auth
		admits   [4]bool // in the order of roles
		operator bool
		outage   bool
	}{
		"of operators":         {route, [4]bool{true, false, false, false}, true, false},
		"that auditors read":   {route.Auditor(), [4]bool{true, true, false, false}, true, false},
		"of the help desk":     {route.HelpDesk(), [4]bool{true, false, true, false}, true, false},
		"that shows the state": {route.Auditor().HelpDesk().Outage(), [4]bool{true, true, true, false}, true, true},
		"of people":            {NeedAccess.Young(), [4]bool{true, false, false, false}, false, false},
	} {
		for i, role := range roles {
			if got := c.auth.Admits(role); got != c.admits[i] {
				t.Errorf("a route %s: Admits(%q) = %t", name, role, got)
			}
		}
		if c.auth.IsOperator() != c.operator || c.auth.InOutage() != c.outage {
			t.Errorf("a route %s: IsOperator = %t, InOutage = %t", name, c.auth.IsOperator(), c.auth.InOutage())
		}
	}
}
