package audit

// Actions are all that entries record, each once. The pages have a sentence for each (internal/web/assets/auditwords.js).
var Actions = []string{
	"adminunit.put", "audit.stream", "authenticator.rename", "console.change", "console.read", "device.approve",
	"device.refuse", "email.add", "email.primary", "email.remove", "email.verification", "email.verify", "factor.add",
	"factor.cloned", "factor.discard", "factor.guesses", "factor.register", "factor.remove", "factor.reset",
	"factor.use", "hold.add", "hold.end", "hold.export", "installation.selftest", "invitation.accept", "invitation.create",
	"invitation.revoke", "mailbox.delete", "mailbox.picture.delete", "mailbox.picture.put", "mailbox.put",
	"mailbox.reactivate", "mailbox.suspend", "mailboxgroup.create", "mailboxgroup.delete", "mailboxgroup.put",
	"member.join", "member.remove", "member.roles", "member.set", "operator.add", "operator.remove",
	"organization.avatar", "organization.create", "organization.delete", "organization.host", "organization.leave",
	"organization.limits", "organization.security", "organization.set", "organization.subscribe", "organization.theme",
	"organization.undo", "organization.update", "organization.uploadorigins", "password.change", "password.reset",
	"password.reset-request", "person.create", "person.delete", "person.export", "person.limits", "person.reactivate",
	"person.signup", "person.suspend", "person.verify", "profile.avatar", "profile.update", "receipt.erase",
	"request.accepted", "request.ask", "request.change", "request.create", "request.delete", "request.open",
	"request.remind", "request.returned", "reservation.cancel", "reservation.end", "security.end", "security.undo",
	"session.end", "session.end-all", "session.login", "session.refuse", "storage.accept", "storage.check",
	"storage.check.cancel", "token.create", "token.network", "token.revoke", "token.uid", "transfer.access",
	"transfer.deliver", "transfer.download.anyway", "transfer.extension.ask", "transfer.forward", "transfer.hide",
	"transfer.inspect", "transfer.pin", "transfer.recipients.add", "transfer.recipients.remove", "transfer.remind",
	"transfer.resend", "transfer.revoke", "transfer.sender-checked", "transfer.unpin", "transfer.update",
	"webhook.create", "webhook.delete", "webhook.disable", "webhook.export", "webhook.rotate", "webhook.update",
}
