// The errors of the identity API. Package fault declares the general ones, package token those of tokens (from 901).

package identity

import (
	"github.com/consign-dev/consign/internal/fault"
)

// A code is the status times 1000 plus a number and never changes its meaning.
var (
	// ErrUnsupportedType: the type is sms, u2f or not a type of authenticator.
	ErrUnsupportedType = fault.New(400030, "type: authenticator type unsupported; use bcrypt, totp, webauthn or recovery")
	// ErrMFAToken: the second step of a login has no usable mfa token.
	ErrMFAToken = fault.New(400031, "Authorization: the second factor needs the mfa token of the first step; log in with type bcrypt to get one")
	// ErrFactorNotVerified: the person has no verified authenticator of the requested type.
	ErrFactorNotVerified = fault.New(400032, "type: no verified authenticator of this type")
	// ErrRedirectURI: the redirect destination is not allowed (contract 3.14).
	ErrRedirectURI = fault.New(400033, "redirect_uri: must be an https address on a hostname of the organization or on one that the operator allows")
	// ErrExternalToken: the external ID token is missing, forged, expired, incomplete, used or for another audience.
	ErrExternalToken = fault.New(400050, "token: is not a valid ID token of a configured provider")
	// ErrExternalCode: the provider does not accept the authorization code.
	ErrExternalCode = fault.New(400051, "code: is invalid, used or expired, or code_verifier does not belong to it")
	// ErrExternalState: the state of a form post is not registered, or a token was posted for it before.
	ErrExternalState = fault.New(400052, "state: is unknown, used or expired")

	// The errors of a program that asks for a session. POST /device/token answers with the codes of RFC 8628 and RFC 6749 instead.

	// ErrDevicePending: nobody has approved or refused the program yet.
	ErrDevicePending = fault.New(400060, "nobody has approved this yet; ask again after the interval")
	// ErrDeviceEarly: the program asks more often than its interval allows.
	ErrDeviceEarly = fault.New(400061, "too early; wait 5 seconds longer between requests from now on")
	// ErrDeviceRefused: the person has refused the program, or the person's rights have changed since the approval.
	ErrDeviceRefused = fault.New(400062, "the person has refused")
	// ErrDeviceExpired: nobody has approved in time.
	ErrDeviceExpired = fault.New(400063, "device_code: has expired; begin again")
	// ErrDeviceCode: the device code is unknown, or was used.
	ErrDeviceCode = fault.New(400064, "device_code: is unknown or was used")
	// ErrGrantType: the grant_type is another one.
	ErrGrantType = fault.New(400065, "grant_type: must be urn:ietf:params:oauth:grant-type:device_code")

	// ErrCredentials: the person does not exist, the password is wrong, or the code is wrong or used.
	ErrCredentials = fault.New(401002, "email and key do not match")
	// ErrWrongHost: the credentials are right, but the request host is not the person's home host.
	ErrWrongHost = fault.New(401003, "log in at the host of your organization; the Link header names it")
	// ErrVerifier: the code_verifier does not match the challenge of the parked token.
	ErrVerifier = fault.New(401004, "code_verifier: does not match the challenge")
	// ErrExternalEmail: the external token is valid, but the provider does not confirm its email address.
	ErrExternalEmail = fault.New(401050, "token: the provider does not say that the email address is verified")
	// ErrExternalProvider: issuer and clientId are not configured, or the provider refused the server's request.
	ErrExternalProvider = fault.New(401051, "issuer, clientId: are not a provider of the client environment")
	// ErrExternalMember: the organization of the provider is full or deleted, so the person cannot join it.
	ErrExternalMember = fault.New(401052, "the organization of this provider has no room for another member (limitation users)")
	// ErrExternalPending: the state of a preflight token is unknown or expired, or no token was posted for it yet, or the person
	// has not confirmed the login (contract 3.14).
	ErrExternalPending = fault.New(401053, "the provider has posted no token for this state, or the state expired; sign in again")

	// ErrSessionNotYoung: the last login is too long ago for a change that needs a recent one.
	ErrSessionNotYoung = fault.New(403010, "your last login is too long ago for this; log in again")
	// ErrEmailNotRecent: the primary address was verified too long ago to register an authenticator.
	ErrEmailNotRecent = fault.New(403011, "your primary address was verified too long ago for this; verify it again by a password reset")
	// ErrFederated: the person logs in at an external provider and has no authenticators here.
	ErrFederated = fault.New(403012, "you log in at an external provider, which manages your authenticators")
	// ErrTypeRegistered: the person has an authenticator of this type, and the type allows one only.
	ErrTypeRegistered = fault.New(403013, "type: an authenticator of this type is already registered")
	// ErrSignupAddressInUse: the address of a signup belongs to another person.
	ErrSignupAddressInUse = fault.New(403014, "address: is already in use").WithMessage(fault.MessageNotStored)
	// ErrResetRefused: no password can be reset for the address.
	ErrResetRefused = fault.New(403015, "address: is unknown, not verified, or has no password to reset; a secondary address can reset it once it has been verified for some days")
	// ErrForeignToken: the token to log out belongs to another person.
	ErrForeignToken = fault.New(403016, "jti: belongs to another person")
	// ErrForeignAddress: the address belongs to another person.
	ErrForeignAddress = fault.New(403017, "address: belongs to another person")
	// ErrPrimaryAddress: the primary address cannot be deleted.
	ErrPrimaryAddress = fault.New(403018, "address: is the primary address; make another address primary first")
	// ErrAddressNotVerified: an unverified address cannot become the primary address.
	ErrAddressNotVerified = fault.New(403019, "address: is not verified yet")
	// ErrLastAdmin: the last Organization.Admin can neither leave nor lose the role.
	ErrLastAdmin = fault.New(403020, "the organization needs an Organization.Admin; give the role to another member or delete the organization first")
	// ErrUserLimit: the organization has as many members as its limitation users allows.
	ErrUserLimit = fault.New(403021, "the organization has no room for another member (limitation users)")
	// ErrStillMember: the caller is already a member of an organization.
	ErrStillMember = fault.New(403022, "you are a member of an organization; leave it first")
	// ErrNotMember: the caller is not a member of the organization.
	ErrNotMember = fault.New(403023, "you are not a member of this organization")
	// ErrRoleMissing: the member lacks the role that the call needs. Use With to name another role.
	ErrRoleMissing = fault.New(403024, "this needs the role Organization.Admin")
	// ErrSharedRoles: a shared invitation would grant roles other than Service roles.
	ErrSharedRoles = fault.New(403025, "roles: a shared invitation can grant Service roles only")
	// ErrInvitationAddress: the caller has not verified the address of a personalized invitation.
	ErrInvitationAddress = fault.New(403026, "the invitation is for an address that is not one of your verified addresses")
	// ErrHostnameRefused: the limitation changeHostname forbids the change, or the hostname is reserved.
	ErrHostnameRefused = fault.New(403027, "hostname: cannot be changed (limitation changeHostname)")
	// ErrInactiveHostnames: the profile would add an inactive hostname.
	ErrInactiveHostnames = fault.New(403028, "inactiveHostnames: entries can be removed, not added")
	// ErrSelfRemoval: an administrator cannot remove their own membership this way.
	ErrSelfRemoval = fault.New(403029, "you cannot remove yourself; leave the organization instead")
	// ErrFreeOrganization: the free organization belongs to the installation.
	ErrFreeOrganization = fault.New(403040, "the free organization cannot be deleted")
	// ErrNoSubscription: the organization has no subscription of the product that the document is about.
	ErrNoSubscription = fault.New(403041, "domain: the organization has no active subscription of this product")
	// ErrProfileIncomplete: the organization's profile lacks members that the document contains.
	ErrProfileIncomplete = fault.New(403042, "the organization's profile is incomplete")
	// ErrNoContract: the limitation gdprContract is off.
	ErrNoContract = fault.New(403043, "the organization's plan has no data processing agreement (limitation gdprContract)")
	// ErrTooManyAddresses: the person has ten addresses.
	ErrTooManyAddresses = fault.New(403044, "address: you have 10 addresses, which is the maximum")
	// ErrVerificationFailed: the code or password does not belong to the authenticator, or the code was used.
	ErrVerificationFailed = fault.New(403045, "email and key do not match the authenticator, or the code was used")
	// ErrKeyChange: the old password is missing or wrong, and the session did not begin with a recent password reset.
	ErrKeyChange = fault.New(403046, "authKey: must be the current password; it can be left out once, soon after a password reset")
	// ErrCannotUnregister: a password cannot be deleted.
	ErrCannotUnregister = fault.New(403047, "an authenticator of this type cannot be deleted")
	// ErrFactorFirst: the person has a second factor, and the session that changes second factors began without it.
	ErrFactorFirst = fault.New(403048, "this session began without your second factor; log in again with it")
	// ErrTooManyAPITokens: the person or the organization has as many API tokens as are allowed.
	ErrTooManyAPITokens = fault.New(403049, "there are too many API tokens; revoke one first")
	// ErrDeviceLogins: as many programs wait for an approval as are allowed, of this client network or in total.
	ErrDeviceLogins = fault.New(403053, "too many programs wait for an approval; try again in some minutes")
	// ErrTooManyOrganizations: the person has made as many organizations within 30 days as one may.
	ErrTooManyOrganizations = fault.New(403059, "you have made 3 organizations within 30 days; wait, or ask an operator")
	// ErrJunior: an administrator of less than identity.SeniorAdministrator cannot do this while there is one of longer standing.
	ErrJunior = fault.New(403058, "you have been an administrator for less than 7 days; an administrator of longer standing, or an operator, can do this")
	// ErrTooManyPasskeys: the person has ten passkeys.
	ErrTooManyPasskeys = fault.New(403055, "you have 10 passkeys, which is the maximum; remove one first")
	// ErrPasskeyHost: the host of the installation cannot have passkeys, because it is an IP address.
	ErrPasskeyHost = fault.New(403056, "passkeys need a host name; this installation is reached by an IP address")
	// ErrExternalAddressInUse: another account has verified the address of a first external login.
	ErrExternalAddressInUse = fault.New(403050, "the email address of this external account is already in use; log in to the account that has it").WithMessage(fault.MessageNotStored)
	// ErrExternalClaimed: the posted token was claimed before.
	ErrExternalClaimed = fault.New(403051, "the ID token for this state was already claimed")

	// ErrKeyNotFound: the confirmation or reset key is unknown, used, expired or another person's.
	ErrKeyNotFound = fault.New(404002, "key: is unknown, used or expired")
	// ErrNothingParked: the parked token was already picked up.
	ErrNothingParked = fault.New(404003, "no token is parked for this pickup token, or it was already picked up")
	// ErrPersonNotFound: the person of a valid token is deleted, or no person has the address.
	ErrPersonNotFound = fault.New(404004, "there is no such person")
	// ErrAddressNotFound: the address is not one of the caller's.
	ErrAddressNotFound = fault.New(404005, "address: is not one of yours")
	// ErrTokenNotFound: no ID token has the jti.
	ErrTokenNotFound = fault.New(404006, "jti: there is no such token")
	// ErrOrganizationNotFound: no organization has the uid or hostname.
	ErrOrganizationNotFound = fault.New(404007, "there is no such organization")
	// ErrNoHost: the request host selects no organization, and there is no free organization.
	ErrNoHost = fault.New(404008, "no organization is served at this host")
	// ErrMemberNotFound: the person is not a member of the organization.
	ErrMemberNotFound = fault.New(404010, "the organization has no such member")
	// ErrInvitationNotFound: the invitation is unknown, used, expired or revoked.
	ErrInvitationNotFound = fault.New(404011, "key: the invitation is unknown, used, expired or revoked")
	// ErrDocumentType: the type of document does not exist.
	ErrDocumentType = fault.New(404012, "type: there is no such document; use dataProcessing")
	// ErrLocaleNotFound: the locale has no bundle.
	ErrLocaleNotFound = fault.New(404013, "locale: is not supported")
	// ErrAvatarNotFound: there is no uploaded avatar.
	ErrAvatarNotFound = fault.New(404014, "there is no avatar")
	// ErrThemeNotFound: the organization has no theme.
	ErrThemeNotFound = fault.New(404015, "there is no theme")
	// ErrAuthenticatorNotFound: the authenticator is not one of the caller's.
	ErrAuthenticatorNotFound = fault.New(404016, "there is no such authenticator")
	// ErrAPITokenNotFound: there is no such API token, or it is another person's.
	ErrAPITokenNotFound = fault.New(404017, "there is no such API token")
	// ErrConfirmation: this browser has posted no login that waits for a confirmation.
	ErrConfirmation = fault.New(404021, "no login waits for your confirmation in this browser; sign in again")
	// ErrUserCode: no program waits with this user code.
	ErrUserCode = fault.New(404018, "code: is unknown, used or expired")

	// ErrAddressInUse: the address to add belongs to another person.
	ErrAddressInUse = fault.New(409014, "address: is already in use").WithMessage(fault.MessageNotStored)
	// ErrHostInUse: the hostname belongs to another organization.
	ErrHostInUse = fault.New(409015, "hostname: belongs to another organization")
	// ErrMemberElsewhere: the person is a member of another organization.
	ErrMemberElsewhere = fault.New(409016, "the person is a member of another organization")
	// ErrMemberNotVerified: the person has no verified address. Such an account can expire and cannot be a member.
	ErrMemberNotVerified = fault.New(409017, "the person has no verified address yet; run consign person verify")
	// ErrAlreadyMember: the address of an invitation belongs to a member.
	ErrAlreadyMember = fault.New(409020, "address: belongs to a member of the organization")
	// ErrExternalUnreachable: the provider is down, slow or answers with something else.
	ErrExternalUnreachable = fault.New(409050, "the identity provider cannot be reached at the moment; retry").WithMessage(fault.MessageNotStored)

	// ErrEmailTooOften: a second verification or confirmation within a minute. The specification fixes this code.
	ErrEmailTooOften = fault.New(429002, "one request per minute is allowed", "retry later")
)

// WrongHost is ErrWrongHost with the person's home host.
type WrongHost struct{ Host string }

// Error implements error.
func (e *WrongHost) Error() string { return "login at the wrong host: " + ErrWrongHost.Error() }

// Unwrap returns ErrWrongHost.
func (e *WrongHost) Unwrap() error { return ErrWrongHost }
