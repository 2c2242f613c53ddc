// The rate-limit buckets of the identity API, and how a request names its client in them.

package handler

import (
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// The buckets of the section "Limits" and of contract 1.7 and 7.
//   - login: all logins with one email address, but not from known devices.
//   - login-device: logins of one person from one known device.
//   - device-lookup: lookups of the person for a device cookie.
//   - failed-login: failed and refused logins, pickups, claims and reset keys from one client address, for any account.
//   - failed-login-audit: audit entries of failed logins from one client address, and in total.
//   - second-factor: second factors of one person, besides login.
//   - verification, confirmation: mails of these calls.
//   - reset: resets that one client network asks for with one address; reset-device: that a known device asks for.
//   - invitation-read: invitations read by key from one client address.
//   - address-added, invitation: mails of one person to unverified addresses.
//   - verification-mail: verification mails to one address, of all who ask for them: signups, added addresses, repeated requests.
//   - invitation-mail: invitations to one address, of all who invite it.
//   - reset-mail: reset mails to one address, of all who ask for them but the person's known devices.
//   - verification-mail-asker, invitation-mail-asker, reset-mail-asker: the same of one client network.
//   - inbox: mails of one person to one address by added address or invitation.
//   - kept-session: sessions made from another session, because each session has its own general bucket.
//   - export: copies of all data of one person.
//   - credential: guesses at the caller's own authenticators.
var (
	loginBucket = ratelimit.Bucket{Name: "login", Limit: ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(15 * time.Second)},
		By: ratelimit.ByEmail, Essential: true}
	deviceBucket       = ratelimit.Bucket{Name: "login-device", Limit: loginBucket.Limit, By: ratelimit.ByDevice, Essential: true}
	deviceLookupBucket = ratelimit.Bucket{Name: "device-lookup", Limit: ratelimit.Limit{Capacity: 60, PerSecond: 1}, By: ratelimit.ByDevice}
	auditBucket        = ratelimit.Bucket{Name: "failed-login-audit",
		Limit: ratelimit.Limit{Capacity: 60, PerSecond: ratelimit.Every(10 * time.Second)}, By: ratelimit.ByAddress, Essential: true}
	auditTotalBucket = ratelimit.Bucket{Name: "failed-login-audit-total", Limit: ratelimit.Limit{Capacity: 1000, PerSecond: 2},
		By: ratelimit.ByServer, Essential: true}
	failedLoginBucket = ratelimit.Bucket{Name: "failed-login", Limit: ratelimit.Limit{Capacity: 60, PerSecond: 1}, By: ratelimit.ByAddress,
		Essential: true}
	factorBucket       = ratelimit.Bucket{Name: "second-factor", Limit: loginBucket.Limit, By: ratelimit.ByPerson, Essential: true}
	verificationBucket = ratelimit.Bucket{Name: "verification", Limit: ratelimit.Limit{Capacity: 1, PerSecond: ratelimit.Every(time.Minute)},
		By: ratelimit.ByPerson, Essential: true, Refusal: identity.ErrEmailTooOften}
	confirmationBucket = ratelimit.Bucket{Name: "confirmation", Limit: ratelimit.Limit{Capacity: 1, PerSecond: ratelimit.Every(time.Minute)},
		By: ratelimit.ByPerson, Essential: true, Refusal: identity.ErrEmailTooOften}
	resetBucket = ratelimit.Bucket{Name: "reset", Limit: ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(time.Minute)},
		By: ratelimit.ByAsker, Essential: true}
	resetDeviceBucket = ratelimit.Bucket{Name: "reset-device",
		Limit: ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(10 * time.Minute)}, By: ratelimit.ByDevice, Essential: true}
	resetMailBucket = ratelimit.Bucket{Name: "reset-mail", Limit: mailLimit, By: ratelimit.ByEmail, Essential: true}
	addressBucket   = ratelimit.Bucket{Name: "address-added",
		Limit: ratelimit.Limit{Capacity: 100, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByPerson, Essential: true}
	verifyMailBucket = ratelimit.Bucket{Name: "verification-mail", Limit: mailLimit, By: ratelimit.ByEmail, Essential: true}
	inboxBucket      = ratelimit.Bucket{Name: "inbox", Limit: ratelimit.Limit{Capacity: 10, PerSecond: ratelimit.Every(time.Minute)},
		By: ratelimit.ByPerson, Essential: true}
	keptSessionBucket = ratelimit.Bucket{Name: "kept-session", Limit: ratelimit.Limit{Capacity: 60, PerSecond: ratelimit.Every(time.Minute)},
		By: ratelimit.ByPerson, Essential: true}
	invitationBucket = ratelimit.Bucket{Name: "invitation",
		Limit: ratelimit.Limit{Capacity: 100, PerSecond: ratelimit.Every(24 * time.Hour / 100)}, By: ratelimit.ByPerson, Essential: true}
	inviteMailBucket = ratelimit.Bucket{Name: "invitation-mail", Limit: mailLimit, By: ratelimit.ByEmail, Essential: true}
	exportBucket     = ratelimit.Bucket{Name: "export", Limit: ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(10 * time.Minute)},
		By: ratelimit.ByPerson, Essential: true}

	accountLimit = ratelimit.Limit{Capacity: 20, PerSecond: ratelimit.Every(10 * time.Second)}
	mailLimit    = ratelimit.Limit{Capacity: 20, PerSecond: ratelimit.Every(24 * time.Hour / 20)} // mails of one kind to an address
)

// askerBucket returns the bucket for the part of a bucket of mails to an address that one client network may take. Without it, one
// stranger could use up the mails that the address's owner needs.
func askerBucket(b ratelimit.Bucket, percent int) ratelimit.Bucket {
	b.Name, b.By = b.Name+"-asker", ratelimit.ByAsker
	return b.Share(percent)
}

// asker returns the identifier of the client network that causes mails to an address. address is normalized.
func asker(r *http.Request, address string) string {
	return address + " " + clientKey(r)
}

// clientKey returns the identifier of the client network.
func clientKey(r *http.Request) string {
	return ratelimit.AddressKey(httpapi.Client(r.Context()).Address)
}

// mailParts returns the buckets of a mail to a normalized address: what one client network may cause, and all together.
func mailParts(r *http.Request, asking, all ratelimit.Bucket, address string) []ratelimit.Part {
	return []ratelimit.Part{{Bucket: asking, Identifier: asker(r, address)}, {Bucket: all, Identifier: address, Client: clientKey(r)}}
}
