package mail

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// expected are the other mails: the addressee has proved the address, or somebody with an account wrote to it, within bounds for a day.
var expected = map[string][]string{
	"to an account's verified addresses": {
		ResetPassword, AddressAdded, AddressVerified, AddressRemoved, PrimaryChanged, PasswordChanged, PasswordReset, FactorAdded, FactorRemoved,
		NewDevice, DataExported, ChangeUndone, SessionsEnded, AccountDeleted, MemberRemoved, MemberLeft, OrganizationDeleted,
		OrganizationChanged, TargetsPaused, FactorRequired, APITokenCreated, APITokenExpiring, ExportTarget, WebhookDisabled, FactorGuesses,
		PasskeyCloned, VanityLinkCleared, TransferAccessed, ExtensionAsked, DeliveryFailed,
	},
	"an invitation or transfer of somebody with an account": {
		Invitation, TransferDelivered, TransferExpiring, TransferReminder, TransferExtended, AccessCode,
		RequestInvitation, RequestReminder, RequestReturned, RequestComplete,
	},
	"an operator's": {TestMail},
}

// TestAttackTextInMails: no mail that anybody can cause to an address that nobody has proved has a word that somebody chose.
func TestAttackTextInMails(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, templates := range expected {
		for _, template := range templates {
			known[template] = true
		}
	}
	m, hostile := renderer(t), "EVIL, verify at https://evil.example"
	for template := range compositions {
		if _, isStated := stated[template]; isStated == known[template] {
			t.Errorf("%s: is in stated %t, and in expected %t", template, isStated, known[template])
		}
		if known[template] {
			continue
		}
		msg := testMessage(template, "en_US")
		msg.ToName, msg.ReplyToName = hostile, hostile
		for _, key := range []string{"subject", "message", "sender", "name", "title", "organization", "inviter", "party", "recipient", "file",
			"finding", "reason", "device", "type", "host", "mailbox", "owner", "address", "verify", "inbox"} {
			msg.Data[key] = hostile
		}
		msg.Data["files"], msg.Data["answers"] = []File{{hostile, 1, ""}}, []Answer{{Title: hostile, Value: hostile}}
		msg.Data["attach"], msg.Data["expiresAt"] = true, time.Now()
		if all := strings.ToLower(fmt.Sprint(parse(t, rendered(t, m, msg.withoutNames()).Bytes))); strings.Contains(all, "evil") {
			t.Errorf("%s: %s", template, all)
		}
	}
}
