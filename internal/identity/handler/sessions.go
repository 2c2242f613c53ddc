// Login, the list of sessions, and logout over HTTP. A login takes from several buckets before it checks the password.

package handler

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

type credentialsRequest struct {
	Email string `json:"email"`
	Type  string `json:"type"`
	Key   string `json:"key"`
}

// logIn handles POST /auth/login. A login that fails or is refused takes a token of the client address's failed-login
// bucket. This limits guesses at many accounts, and it limits password comparisons, which are slow. A login that gives up
// after 10 s of waiting for such a comparison takes a token, too. A known device is limited by its own bucket only, so
// that nobody behind the same address can shut it out (contract 3.22).
func (h *Handler) logIn(w http.ResponseWriter, r *http.Request) error {
	var in credentialsRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	credentials, err := service.Credentials{Email: in.Email, Type: in.Type, Key: in.Key, Devices: h.devicesOf(r)}.Check()
	if err != nil {
		return err
	}
	if credentials.Type != credential.TypePasskey { // nobody can guess a signature, so no bucket of a person is needed
		device, err := h.knownDevice(r, credentials.Email, credentials.Devices)
		if err != nil {
			return err
		}
		credentials = credentials.WithDevice(device)
	}
	var signedIn session.SignedIn
	client := httpapi.Client(r.Context())
	login := func() (failed bool, err error) {
		mfa, err := h.admit(w, r, credentials)
		if err != nil {
			return true, err
		}
		ctx := r.Context()
		if !credentials.Device.IsZero() {
			ctx = ratelimit.WithKnownDevice(ctx)
		}
		signedIn, err = h.service.Login(ctx, client, credentials.WithMFA(mfa))
		if errors.Is(err, identity.ErrCredentials) {
			err = cmp.Or(h.recordFailedLogin(r, credentials), err)
		}
		return err != nil && !errors.Is(err, identity.ErrWrongHost), err
	}
	if credentials.Device.IsZero() {
		err = h.buckets.TakeFor(w, r.Context(), failedLoginBucket, clientKey(r), httpapi.Identity, login)
	} else {
		_, err = login()
	}
	if err != nil {
		return h.setHomeHost(w, err, "/auth/login")
	}
	return h.respondSignedIn(w, r, signedIn)
}

// recordFailedLogin writes an audit entry unless the client network, or all together, have written many.
func (h *Handler) recordFailedLogin(r *http.Request, credentials service.Checked) error {
	client := httpapi.Client(r.Context())
	allowed, err := h.buckets.Admit(r.Context(), ratelimit.Part{Bucket: auditBucket, Identifier: clientKey(r)})
	if err == nil && allowed {
		allowed, err = h.buckets.Admit(r.Context(), ratelimit.Part{Bucket: auditTotalBucket, Identifier: "all", Client: clientKey(r)})
	}
	if err != nil || !allowed {
		return err
	}
	return h.service.RecordFailedLogin(r.Context(), client, credentials.Email, credentials.Type)
}

// guess runs work that checks a secret. If the client is refused, that costs a token of the failed-login bucket of its
// address. While the bucket is full, nothing is checked.
func (h *Handler) guess(w http.ResponseWriter, r *http.Request, work func() error) error {
	return h.buckets.TakeFor(w, r.Context(), failedLoginBucket, clientKey(r), httpapi.Identity, func() (refused bool, err error) {
		err = work()
		var f *fault.Error
		refused = errors.As(err, &f) && !errors.Is(err, identity.ErrWrongHost) &&
			(f.Kind == fault.Invalid || f.Kind == fault.Unauthenticated || f.Kind == fault.Forbidden || f.Kind == fault.NotFound)
		return refused, err
	})
}

// admit takes the tokens of a login: one of the known device's bucket, or one of the email address's and, for a second
// factor, one of the person's. A passkey takes none. It returns the caller of the mfa token, nil without one.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, credentials service.Checked) (*token.Caller, error) {
	if credentials.Type == credential.TypePasskey {
		return h.optionalMFA(r)
	}
	part := ratelimit.Part{Bucket: loginBucket, Identifier: credentials.Email, Client: clientKey(r)}
	if !credentials.Device.IsZero() {
		part = ratelimit.Part{Bucket: deviceBucket, Identifier: credentials.Device.String()}
	}
	if err := h.buckets.TakePart(w, r.Context(), part, httpapi.Identity); err != nil {
		return nil, err
	}
	if credentials.Type == credential.TypeBcrypt {
		return nil, nil
	}
	caller, err := h.mfa(r)
	if err != nil || caller == nil || !credentials.Device.IsZero() {
		return caller, err
	}
	// Codes are short. The bucket of the person keeps ten addresses from allowing ten times as many guesses.
	return caller, h.buckets.TakeQuietly(w, r.Context(), factorBucket, caller.Person.String(), httpapi.Identity)
}

// mfa returns the caller of the mfa token of a second step, nil when it is missing or invalid. The specification wants 400
// for that, not 401 as elsewhere.
func (h *Handler) mfa(r *http.Request) (*token.Caller, error) {
	raw, present := token.Bearer(r)
	if !present {
		return nil, nil
	}
	caller, err := h.verify(r.Context(), raw)
	var refused *fault.Error
	switch {
	case err == nil:
		return &caller, nil
	case errors.As(err, &refused) && refused.Kind == fault.Unauthenticated:
		return nil, nil
	}
	return nil, err
}

type sessionResponse struct {
	JTI        id.Token     `json:"jti"`
	Issued     httpapi.Time `json:"issuedTimestamp"`
	Expiration httpapi.Time `json:"expirationTimestamp"`
	UserAgent  string       `json:"userAgent"`
	IP         string       `json:"ip"`
}

type sessionsResponse struct {
	Tokens []sessionResponse `json:"tokens"`
}

func sessionFrom(s identity.Session) sessionResponse {
	return sessionResponse{JTI: s.JTI, Issued: httpapi.Time(s.IssuedAt), Expiration: httpapi.Time(s.ExpiresAt), UserAgent: s.UserAgent,
		IP: s.IP}
}

type sessionUseResponse struct {
	JTI  id.Token     `json:"jti"`
	Used httpapi.Time `json:"lastUsedTimestamp"`
}

// listSessionUses handles GET /auth/uses: what the specification's token entries do not have.
func (h *Handler) listSessionUses(w http.ResponseWriter, r *http.Request) error {
	sessions, err := h.service.Sessions(r.Context(), caller(r))
	if err != nil {
		return err
	}
	out := make([]sessionUseResponse, len(sessions))
	for i, s := range sessions {
		out[i] = sessionUseResponse{s.JTI, httpapi.Time(s.UsedAt)}
	}
	return httpapi.JSON(w, http.StatusOK, map[string]any{"uses": out})
}

// listSessions handles GET /auth.
func (h *Handler) listSessions(w http.ResponseWriter, r *http.Request) error {
	sessions, err := h.service.Sessions(r.Context(), caller(r))
	if err != nil {
		return err
	}
	out := sessionsResponse{Tokens: make([]sessionResponse, len(sessions))}
	for i, s := range sessions {
		out.Tokens[i] = sessionFrom(s)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// logOut handles POST /auth/logout.
func (h *Handler) logOut(w http.ResponseWriter, r *http.Request) error {
	var problems fault.Problems
	jti := queryOne(r.URL.Query(), &problems, "jti")
	if jti != nil && *jti == "" {
		problems.Add("jti", "is empty")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	c := caller(r)
	if err := h.service.Logout(r.Context(), c, orEmpty(jti)); err != nil {
		return err
	}
	if jti == nil || *jti == session.LogoutAll || *jti == c.JTI.String() {
		h.expireCookies(w, r, c)
	}
	return httpapi.NoContent(w)
}
