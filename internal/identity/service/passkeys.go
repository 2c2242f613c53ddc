// Rules of passkeys: challenges, login, registration, and a counter that went back.

package service

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// The purposes of challenges. Each is sealed for one subject.
const (
	challengeRegister = "register" // a new passkey; the subject is its authenticator
	challengeLogin    = "login"    // a login without password; no subject
	challengeFactor   = "factor"   // the second step of a login; the subject is the mfa token
	challengeProof    = "proof"    // a step-up; the subject is the session
)

// maxPasskeyAnswer is how many bytes a browser's answer may have.
const maxPasskeyAnswer = 32 << 10

// sealChallenge returns a challenge that only a page of the request host can have signed, for one purpose and subject. Nothing is stored.
func (s *Service) sealChallenge(c token.Client, purpose string, subject uuid.UUID) []byte {
	expires := s.now().Add(identity.PasskeyChallenge)
	return s.challenges.Seal(binary.BigEndian.AppendUint64(nil, uint64(expires.UnixMilli())), challengeContext(c, purpose, subject)) //nolint:gosec // after 1970
}

// openChallenge returns when a challenge expires.
// Errors: identity.ErrCredentials for one that is forged, expired, or of another host, purpose or subject.
func (s *Service) openChallenge(c token.Client, purpose string, subject uuid.UUID, challenge []byte) (time.Time, error) {
	plain, err := s.challenges.Open(challenge, challengeContext(c, purpose, subject))
	if err != nil || len(plain) != 8 {
		return time.Time{}, identity.ErrCredentials
	}
	expires := time.UnixMilli(int64(binary.BigEndian.Uint64(plain))) //nolint:gosec // sealChallenge wrote it
	if !s.now().Before(expires) {
		return time.Time{}, identity.ErrCredentials
	}
	return expires, nil
}

func challengeContext(c token.Client, purpose string, subject uuid.UUID) []byte {
	return []byte(purpose + " " + subject.String() + " " + c.Host.Name)
}

// party returns the relying party of passkeys of a hostname, used by pages of the request host.
func (s *Service) party(c token.Client, host string) credential.RelyingParty {
	return credential.RelyingParty{ID: host, Name: s.settings.ProductName, Origin: s.hosts.URL(c.Host.Name, "")}
}

func passkeyFrom(k postgres.Passkey) credential.Passkey {
	return credential.Passkey{
		ID: k.CredentialID, PublicKey: k.PublicKey, SignCount: k.SignCount, Transports: k.Transports,
		BackupEligible: k.BackupEligible, BackedUp: k.BackedUp, AAGUID: k.AAGUID,
	}
}

// passkeysAt returns the passkeys that a page of the request host asks for. They all belong to one hostname: the request host, or when it
// has none, the hostname of the passkey that was used last. Browsers accept the latter when that hostname lists the request host in
// /.well-known/webauthn.
func passkeysAt(c token.Client, all []postgres.Passkey) (host string, list []credential.Passkey) {
	if len(all) == 0 {
		return c.Host.Name, nil
	}
	host = all[0].Host
	for _, k := range all {
		if k.Host == c.Host.Name {
			host = k.Host
		}
	}
	for _, k := range all {
		if k.Host == host {
			list = append(list, passkeyFrom(k))
		}
	}
	return host, list
}

// PasskeyOptions returns the options with which a browser signs for a login: without password if mfa is nil, else as its second factor.
// Errors: identity.ErrPasskeyHost, identity.ErrMFAToken, identity.ErrFactorNotVerified.
func (s *Service) PasskeyOptions(ctx context.Context, c token.Client, mfa *token.Caller) (json.RawMessage, error) {
	if !credential.PasskeyHost(c.Host.Name) {
		return nil, identity.ErrPasskeyHost
	}
	if mfa == nil {
		return credential.PasskeyRequest(c.Host.Name, s.sealChallenge(c, challengeLogin, uuid.Nil), nil)
	}
	if err := s.checkPending(ctx, *mfa); err != nil {
		return nil, err
	}
	return s.requestOf(ctx, c, mfa.Person, s.sealChallenge(c, challengeFactor, mfa.JTI.UUID), identity.ErrFactorNotVerified)
}

// ProofOptions returns the options with which the caller's browser signs for a step-up.
// Errors: identity.ErrPasskeyHost, identity.ErrAuthenticatorNotFound when the caller has no passkey.
func (s *Service) ProofOptions(ctx context.Context, caller token.Caller) (json.RawMessage, error) {
	if !credential.PasskeyHost(caller.Client.Host.Name) {
		return nil, identity.ErrPasskeyHost
	}
	challenge := s.sealChallenge(caller.Client, challengeProof, caller.Session.UUID)
	return s.requestOf(ctx, caller.Client, caller.Person, challenge, identity.ErrAuthenticatorNotFound)
}

// requestOf returns the options for the passkeys of a person.
// Errors: none when the person has no passkey.
func (s *Service) requestOf(ctx context.Context, c token.Client, p id.Person, challenge []byte, none error) (json.RawMessage, error) {
	all, err := s.store.Passkeys(ctx, p)
	if err != nil {
		return nil, err
	}
	host, allowed := passkeysAt(c, all)
	if len(allowed) == 0 {
		return nil, none
	}
	return credential.PasskeyRequest(host, challenge, allowed)
}

// checkPending checks that the mfa token of a second step can still be used.
// Errors: identity.ErrMFAToken.
func (s *Service) checkPending(ctx context.Context, mfa token.Caller) error {
	if mfa.Kind != token.KindMFA {
		return identity.ErrMFAToken
	}
	pending, err := s.store.IsPending(ctx, mfa.Person, mfa.JTI, s.now())
	if err == nil && !pending {
		err = identity.ErrMFAToken
	}
	return err
}

// passkeyTry is a browser's answer to a challenge.
type passkeyTry struct {
	client  token.Client
	purpose string
	subject uuid.UUID
	person  id.Person // who must own the passkey; zero: anybody
	answer  string
}

// passkeyUse is a correct answer.
type passkeyUse struct {
	postgres.Passkey
	verified bool // the authenticator verified the person
	use      func(context.Context, *postgres.Store) error
}

// checkPasskey verifies a browser's answer. use consumes the challenge and stores the counter; run it in the transaction of the login.
// Only use decides between parallel logins with one answer. An unknown passkey and a wrong signature are refused alike.
// Errors: fault.ErrInvalid, identity.ErrCredentials, also from use.
func (s *Service) checkPasskey(ctx context.Context, t passkeyTry) (passkeyUse, error) {
	answer, err := parsePasskey(t.answer, credential.ParsePasskeyAnswer)
	if err != nil {
		return passkeyUse{}, err
	}
	expires, err := s.openChallenge(t.client, t.purpose, t.subject, answer.Challenge)
	if err != nil {
		return passkeyUse{}, err
	}
	k, err := s.store.Passkey(ctx, answer.ID)
	switch {
	case err != nil:
		return passkeyUse{}, err
	case !t.person.IsZero() && k.Person != t.person, t.person.IsZero() && len(answer.Handle) == 0:
		return passkeyUse{}, identity.ErrCredentials
	}
	used, verified, err := answer.Verify(s.party(t.client, k.Host), credential.PasskeyOwner{Handle: k.Person.UUID[:], Name: k.Person.String()},
		passkeyFrom(k))
	if errors.Is(err, credential.ErrPasskeyCloned) {
		if err := s.reportClone(ctx, t.client, k); err != nil {
			return passkeyUse{}, err
		}
	}
	if err != nil {
		s.log.DebugContext(ctx, "passkey refused", "reason", err)
		return passkeyUse{}, identity.ErrCredentials
	}
	k.SignCount, k.BackedUp = used.SignCount, used.BackedUp
	return passkeyUse{Passkey: k, verified: verified, use: func(ctx context.Context, tx *postgres.Store) error {
		if err := tx.UseChallenge(ctx, seal.Hash(string(answer.Challenge)), expires); err != nil {
			return err
		}
		return tx.UsePasskey(ctx, k, s.now())
	}}, nil
}

// parsePasskey reads a browser's answer.
// Errors: fault.ErrInvalid.
func parsePasskey[A any](text string, parse func(string) (A, error)) (A, error) {
	var none A
	if len(text) > maxPasskeyAnswer {
		return none, fault.ErrInvalid.With("key: " + credential.ErrPasskeyForm.Error())
	}
	a, err := parse(text)
	if err != nil {
		return none, fault.ErrInvalid.With("key: " + credential.ErrPasskeyForm.Error())
	}
	return a, nil
}

// reportClone mails the owner of a passkey whose counter went back, once a day.
func (s *Service) reportClone(ctx context.Context, c token.Client, k postgres.Passkey) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		first, err := tx.MarkCloned(ctx, k.Authenticator, s.now(), s.now().Add(-identity.ClonedMailInterval))
		if err != nil || !first {
			return err
		}
		to, err := tx.Addressee(ctx, k.Person)
		if err != nil {
			return err
		}
		data := map[string]any{}
		if k.Name != "" {
			data["name"] = k.Name
		}
		if err := s.notices.Inform(ctx, tx, to, k.Person, c, notice.Notice{Template: mail.PasskeyCloned, Data: data}); err != nil {
			return err
		}
		return s.recordOwn(ctx, tx, token.Caller{Person: k.Person, Client: c}, "factor.cloned", k.Authenticator.String(),
			map[string]string{"type": credential.TypePasskey})
	})
}

// loginPasskey is a login with a passkey: without password, if the authenticator verified the person, or the second step of a login.
// Errors: fault.ErrInvalid, identity.ErrCredentials, identity.ErrMFAToken, *identity.WrongHost.
func (s *Service) loginPasskey(ctx context.Context, c token.Client, in Checked) (session.SignedIn, error) {
	try := passkeyTry{client: c, purpose: challengeLogin, answer: in.Key}
	if in.MFA != nil {
		if err := s.checkPending(ctx, *in.MFA); err != nil {
			return session.SignedIn{}, err
		}
		try.purpose, try.subject, try.person = challengeFactor, in.MFA.JTI.UUID, in.MFA.Person
	}
	k, err := s.checkPasskey(ctx, try)
	if err != nil {
		return session.SignedIn{}, err
	}
	if in.MFA == nil && !k.verified {
		return session.SignedIn{}, identity.ErrCredentials
	}
	login, err := s.store.LoginOf(ctx, k.Person)
	if errors.Is(err, identity.ErrPersonNotFound) {
		return session.SignedIn{}, identity.ErrCredentials
	} else if err != nil {
		return session.SignedIn{}, err
	}
	if !login.ServedBy(c.Host.Organization) {
		return session.SignedIn{}, &identity.WrongHost{Host: login.Host}
	}
	return s.loginTwo(ctx, c, in, k.Person, k.use)
}

// registerPasskey stores an authenticator that waits for its passkey, and returns it with the options of the browser.
func (s *Service) registerPasskey(ctx context.Context, caller token.Caller, name, account string, p proved) (Registered, error) {
	host := caller.Client.Host.Name
	if !credential.PasskeyHost(host) {
		return Registered{}, identity.ErrPasskeyHost
	}
	all, err := s.store.Passkeys(ctx, caller.Person)
	if err != nil {
		return Registered{}, err
	}
	var have []credential.Passkey
	for _, k := range all {
		if k.Host == host {
			have = append(have, passkeyFrom(k))
		}
	}
	uid := id.New[id.Authenticator]()
	owner := credential.PasskeyOwner{Handle: caller.Person.UUID[:], Name: account}
	options, err := credential.PasskeyCreation(s.party(caller.Client, host), owner,
		s.sealChallenge(caller.Client, challengeRegister, uid.UUID), have)
	if err != nil {
		return Registered{}, err
	}
	r := Registered{Options: options}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.lockProved(ctx, tx, caller, p); err != nil {
			return err
		}
		if err := tx.BeginPasskey(ctx, caller.Person, uid, name, s.now()); err != nil {
			return err
		}
		if err := s.recordOwn(ctx, tx, caller, "factor.register", uid.String(), map[string]string{"type": credential.TypePasskey}); err != nil {
			return err
		}
		r.Authenticator, err = tx.Authenticator(ctx, caller.Person, uid)
		return err
	})
	return r, err
}

// verifyPasskey stores the passkey that the browser made.
// Errors: fault.ErrInvalid, identity.ErrVerificationFailed.
func (s *Service) verifyPasskey(ctx context.Context, caller token.Caller, a id.Authenticator, answer string) (idToken string, err error) {
	made, err := parsePasskey(answer, credential.ParseMadePasskey)
	if err != nil {
		return "", err
	}
	if _, err := s.openChallenge(caller.Client, challengeRegister, a.UUID, made.Challenge); err != nil {
		return "", identity.ErrVerificationFailed
	}
	host := caller.Client.Host.Name
	k, err := made.Verify(s.party(caller.Client, host), credential.PasskeyOwner{Handle: caller.Person.UUID[:], Name: caller.Person.String()})
	if err != nil {
		s.log.DebugContext(ctx, "passkey refused", "reason", err)
		return "", identity.ErrVerificationFailed
	}
	return s.addFactor(ctx, caller, a, func(tx *postgres.Store) error {
		return tx.StorePasskey(ctx, postgres.Passkey{
			Authenticator: a, Person: caller.Person, Host: host, CredentialID: k.ID, PublicKey: k.PublicKey, SignCount: k.SignCount,
			Transports:     k.Transports,
			BackupEligible: k.BackupEligible, BackedUp: k.BackedUp, AAGUID: k.AAGUID,
		}, s.now())
	})
}

// RelatedOrigins returns the origins whose pages may use passkeys of the request host (contract 3.27).
func (s *Service) RelatedOrigins(ctx context.Context, c token.Client) ([]string, error) {
	return s.related.Get(c.Host.Organization, func() ([]string, error) {
		list, err := s.store.RelatedHosts(ctx, c.Host.Organization, identity.MaxRelatedHosts)
		for i, h := range list {
			list[i] = s.hosts.URL(h, "")
		}
		return list, err
	})
}
