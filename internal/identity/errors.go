package identity

import (
	"time"

	"github.com/consign-dev/consign/internal/fault"
)

// Every failure of the identity API beside the general ones (n = 1) of package fault, those of tokens in package token
// and the full buckets of package httpapi. Codes are status × 1000 + n and stable.
var (
	// ErrUnsupportedType: sms, u2f, or a word that names no type of authenticator.
	ErrUnsupportedType = fault.New(fault.Invalid, 30, "type: authenticator type unsupported; use bcrypt, totp or recovery")
	// ErrMFAToken: the second step of a login without a usable mfa token.
	ErrMFAToken = fault.New(fault.Invalid, 31, "Authorization: the second factor needs the mfa token of the first step; log in with type bcrypt to get one")
	// ErrFactorNotVerified: the second factor asked for is not among the person's verified authenticators.
	ErrFactorNotVerified = fault.New(fault.Invalid, 32, "type: no verified authenticator of this type")
	// ErrRedirectURI: a destination that is not allowed (contract 3.14).
	ErrRedirectURI = fault.New(fault.Invalid, 33, "redirect_uri: must be an https address on a hostname of the organization or one the operator allows")

	// ErrCredentials: no such person, a wrong password, or a code that is wrong or used.
	ErrCredentials = fault.New(fault.Unauthenticated, 2, "email and key do not match")
	// ErrWrongHost: right credentials at a host the person is not at home at.
	ErrWrongHost = fault.New(fault.Unauthenticated, 3, "log in at your organization's own host, which the Link header names")
	// ErrVerifier: the code_verifier does not fit the challenge of the parked token.
	ErrVerifier = fault.New(fault.Unauthenticated, 4, "code_verifier: does not match the challenge")

	// ErrSessionNotYoung: the login is too long ago to register an authenticator.
	ErrSessionNotYoung = fault.New(fault.Forbidden, 10, "your login is too long ago for this: log in again")
	// ErrEmailNotRecent: the primary address was proved too long ago to register an authenticator.
	ErrEmailNotRecent = fault.New(fault.Forbidden, 11, "your primary address was verified too long ago for this: prove it by a password reset")
	// ErrFederated: who logs in at an external provider has no authenticators here.
	ErrFederated = fault.New(fault.Forbidden, 12, "you log in at an external provider, which keeps your authenticators")
	// ErrTypeRegistered: there is an authenticator of a type of which there can be one.
	ErrTypeRegistered = fault.New(fault.Forbidden, 13, "type: an authenticator of this type is registered already")
	// ErrFactorFirst: a session without the second factor that the person has, which changes second factors.
	ErrFactorFirst = fault.New(fault.Forbidden, 48, "this session began without your second factor: log in again with it")
	// ErrForeignAddress: the address is somebody else's.
	ErrForeignAddress = fault.New(fault.Forbidden, 17, "address: belongs to somebody else")
	// ErrPrimaryAddress: the primary address cannot be removed.
	ErrPrimaryAddress = fault.New(fault.Forbidden, 18, "address: is the primary one: make another primary first")
	// ErrAddressNotVerified: an address that is not verified cannot become the primary one.
	ErrAddressNotVerified = fault.New(fault.Forbidden, 19, "address: is not verified yet")
	// ErrTooManyAddresses: a person has ten addresses at most.
	ErrTooManyAddresses = fault.New(fault.Forbidden, 44, "address: you have 10 already, which is as many as there can be")
	// ErrVerificationFailed: the code or password does not belong to the authenticator, or was used.
	ErrVerificationFailed = fault.New(fault.Forbidden, 45, "email and key do not match the authenticator, or the code was used")
	// ErrKeyChange: a new password without the old one, or not soon after a reset.
	ErrKeyChange = fault.New(fault.Forbidden, 46, "authKey: must be the present password; only a session that began with a password reset can do without, soon and once")
	// ErrCannotUnregister: the password stays.
	ErrCannotUnregister = fault.New(fault.Forbidden, 47, "an authenticator of this type cannot be unregistered")

	// ErrSignupAddressInUse and ErrAddressInUse: the address belongs to somebody, at signup and when adding one.
	ErrSignupAddressInUse = fault.New(fault.Forbidden, 14, "address: is already in use").WithMessage(fault.MessageNotStored)
	ErrAddressInUse       = fault.New(fault.Conflict, 14, "address: is already in use").WithMessage(fault.MessageNotStored)
	// ErrResetRefused: no password to reset under that address.
	ErrResetRefused = fault.New(fault.Forbidden, 15, "address: is unknown, not verified, or has no password to reset")
	// ErrForeignToken: the token to log out belongs to another person.
	ErrForeignToken = fault.New(fault.Forbidden, 16, "jti: belongs to somebody else")

	// ErrKeyNotFound: a confirmation or reset key that is unknown, used, expired or another person's.
	ErrKeyNotFound = fault.New(fault.NotFound, 2, "key: is unknown, used or expired")
	// ErrNothingParked: a pickup token whose parked token was fetched already.
	ErrNothingParked = fault.New(fault.NotFound, 3, "nothing is parked for this token, or it was picked up")
	// ErrPersonNotFound: the person of a valid token exists no more, or no person has that address.
	ErrPersonNotFound = fault.New(fault.NotFound, 4, "there is no such person")
	// ErrAddressNotFound: not one of the caller's addresses.
	ErrAddressNotFound = fault.New(fault.NotFound, 5, "address: is not one of yours")
	// ErrTokenNotFound: no ID token has that jti.
	ErrTokenNotFound = fault.New(fault.NotFound, 6, "jti: there is no such token")
	// ErrOrganizationNotFound: no organization has that uid or hostname.
	ErrOrganizationNotFound = fault.New(fault.NotFound, 7, "there is no such organization")
	// ErrNoHost: the hostname selects no organization and there is no free one.
	ErrNoHost = fault.New(fault.NotFound, 8, "no organization is served at this host")

	// ErrLastAdmin: the last Organization.Admin may neither leave nor lose the role.
	ErrLastAdmin = fault.New(fault.Forbidden, 20, "the organization would have no Organization.Admin: give the role to somebody else, or delete the organization, first")
	// ErrUserLimit: the organization has as many members as its limitation users allows.
	ErrUserLimit = fault.New(fault.Forbidden, 21, "the organization has as many members as it may have (limitation users)")
	// ErrStillMember: the caller is in an organization already.
	ErrStillMember = fault.New(fault.Forbidden, 22, "you are a member of an organization: leave it first")
	// ErrNotMember: the organization is not the caller's.
	ErrNotMember = fault.New(fault.Forbidden, 23, "you are not a member of this organization")
	// ErrRoleMissing: a member without the role that the call needs. Use With to name it.
	ErrRoleMissing = fault.New(fault.Forbidden, 24, "needs the role Organization.Admin")
	// ErrSharedRoles: a shared invitation that would grant more than Service roles.
	ErrSharedRoles = fault.New(fault.Forbidden, 25, "roles: a shared invitation can grant Service roles only")
	// ErrInvitationAddress: a personalized invitation whose address the caller has not verified.
	ErrInvitationAddress = fault.New(fault.Forbidden, 26, "the invitation is for an address that is not a verified one of yours")
	// ErrHostnameRefused: a hostname that the organization's changeHostname does not allow, or that nobody may take.
	ErrHostnameRefused = fault.New(fault.Forbidden, 27, "hostname: may not be changed (limitation changeHostname)")
	// ErrInactiveHostnames: a profile that would add a hostname to the inactive ones.
	ErrInactiveHostnames = fault.New(fault.Forbidden, 28, "inactiveHostnames: entries can be removed, not added")
	// ErrSelfRemoval: an administrator that removes itself.
	ErrSelfRemoval = fault.New(fault.Forbidden, 29, "you cannot remove yourself: leave the organization instead")
	// ErrFreeOrganization: the free organization belongs to the installation and cannot be deleted.
	ErrFreeOrganization = fault.New(fault.Forbidden, 40, "the free organization cannot be deleted")
	// ErrNoSubscription: a document about a product that the organization has not subscribed to.
	ErrNoSubscription = fault.New(fault.Forbidden, 41, "domain: the organization has no active subscription of this product")
	// ErrProfileIncomplete: a document for an organization whose profile lacks what the document must name.
	ErrProfileIncomplete = fault.New(fault.Forbidden, 42, "the organization's profile is incomplete")
	// ErrNoContract: the limitation gdprContract is off.
	ErrNoContract = fault.New(fault.Forbidden, 43, "the organization's plan has no data processing agreement (limitation gdprContract)")

	// ErrExternalToken: an external ID token that is missing, forged, expired, not for us, incomplete or used already.
	ErrExternalToken = fault.New(fault.Invalid, 50, "token: is not a valid ID token of a configured provider")
	// ErrExternalCode: an authorization code that the provider does not redeem.
	ErrExternalCode = fault.New(fault.Invalid, 51, "code: is invalid, used or expired, or code_verifier does not belong to it")
	// ErrExternalState: a form post whose state nobody registered, or to which a token was posted before.
	ErrExternalState = fault.New(fault.Invalid, 52, "state: is unknown, used or expired")
	// ErrExternalEmail: a genuine external token whose address the provider does not vouch for.
	ErrExternalEmail = fault.New(fault.Unauthenticated, 50, "token: the provider does not say that the email address is verified")
	// ErrExternalProvider: issuer and clientId that are not configured, or a provider that refused us.
	ErrExternalProvider = fault.New(fault.Unauthenticated, 51, "issuer, clientId: are not a provider of the client environment")
	// ErrExternalMember: the organization of the provider's client is full or gone, so its people cannot join it.
	ErrExternalMember = fault.New(fault.Unauthenticated, 52, "the organization that this provider's people join has as many members as it may have (limitation users)")
	// ErrExternalPending: a preflight token whose state is unknown or expired, or to which nothing was posted yet.
	ErrExternalPending = fault.New(fault.Unauthenticated, 53, "the provider has posted nothing for this state, or it expired; sign in again")
	// ErrExternalAddressInUse: the address of a first external login belongs to an account that has verified it.
	ErrExternalAddressInUse = fault.New(fault.Forbidden, 50, "the email address of this external account is in use here: log in to the account that has it").WithMessage(fault.MessageNotStored)
	// ErrExternalClaimed: the second claim of what a provider posted.
	ErrExternalClaimed = fault.New(fault.Forbidden, 51, "the ID token for this state was handed out already")
	// ErrExternalUnreachable: the provider is down, slow or no provider at the moment.
	ErrExternalUnreachable = fault.New(fault.Conflict, 50, "the identity provider cannot be reached at the moment; retry").WithMessage(fault.MessageNotStored)

	// ErrMemberNotFound: nobody of that uid is a member of the organization.
	ErrMemberNotFound = fault.New(fault.NotFound, 10, "the organization has no such member")
	// ErrInvitationNotFound: an invitation that is unknown, used, expired or revoked.
	ErrInvitationNotFound = fault.New(fault.NotFound, 11, "key: the invitation is unknown, used, expired or revoked")
	// ErrDocumentType: a type of document that is not offered.
	ErrDocumentType = fault.New(fault.NotFound, 12, "type: there is no such document; there is dataProcessing")
	// ErrLocaleNotFound: a locale without a bundle.
	ErrLocaleNotFound = fault.New(fault.NotFound, 13, "locale: is not supported")
	// ErrAvatarNotFound: no avatar was uploaded.
	ErrAvatarNotFound = fault.New(fault.NotFound, 14, "there is no avatar")
	// ErrAuthenticatorNotFound: not one of the caller's authenticators.
	ErrAuthenticatorNotFound = fault.New(fault.NotFound, 16, "there is no such authenticator")
	// ErrThemeNotFound: the organization has no theme.
	ErrThemeNotFound = fault.New(fault.NotFound, 15, "there is no theme")

	// ErrAlreadyMember: an invitation for an address of a member.
	ErrAlreadyMember = fault.New(fault.Conflict, 20, "address: belongs to a member of the organization")

	// ErrEmailTooOften: verification or confirmation more than once a minute; the code is fixed by the specification.
	ErrEmailTooOften = fault.New(fault.RateLimited, 2, "one request a minute is possible", "retry later")

	// ErrPictureNotTaken: the directory in which pictures wait (TMPDIR) is full, read-only or away.
	ErrPictureNotTaken = fault.ErrUnavailable.With("the server has no room for pictures at the moment; retry later").WithRetryAfter(30 * time.Second)

	// ErrHostInUse: a hostname belongs to another organization.
	ErrHostInUse = fault.New(fault.Conflict, 15, "hostname: belongs to another organization")
	// ErrMemberNotVerified: a person who may vanish with an address that was never verified cannot be a member.
	ErrMemberNotVerified = fault.New(fault.Conflict, 17, "the person has no verified address yet: consign person verify")
	// ErrMemberElsewhere: the person is a member of another organization.
	ErrMemberElsewhere = fault.New(fault.Conflict, 16, "the person is a member of another organization")
)

// WrongHost is ErrWrongHost with the host that would be right.
type WrongHost struct{ Host string }

// Error implements error.
func (e *WrongHost) Error() string { return "login at the wrong host: " + ErrWrongHost.Error() }

// Unwrap makes it the declared error that it is.
func (e *WrongHost) Unwrap() error { return ErrWrongHost }
