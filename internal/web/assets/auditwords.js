// The audit in sentences: who did what (contract 3.20). They say only what the entry says. Only pages that show an audit load them.

import { F, N, T } from "./i18n.js";

/**
 * An entry of one of the three audits. `actor` and `target` are names as the viewer may know them, "" without a person.
 * @typedef {{action: string, role: string, actor: string, target: string, object: string, details: Record<string, string>}} Told
 */

/** A person of an entry, as the viewer may know it. @param {{uid: string, name?: string, email?: string} | null | undefined} p */
export const named = (p) => (p ? p.name || p.email || F("account %s", p.uid.slice(-8)) : "");

/** Who did it. @param {Told} e */
const actorOf = (e) => e.actor || { administrator: T("An administrator"), operator: T("An operator"), command: T("A command on the server"),
  job: T("The server") }[e.role] || T("Somebody who was not signed in");

/** How somebody signed in. @type {() => Record<string, string>} */
const means = () => ({ bcrypt: T("with a password"), totp: T("with a code of an app"), webauthn: T("with a passkey"),
  recovery: T("with a recovery code"), external: T("through another service") });

/** What somebody proves who they are with. @type {() => Record<string, string>} */
const factors = () => ({ bcrypt: T("a password"), totp: T("an authenticator app"), webauthn: T("a passkey"),
  recovery: T("recovery codes") });

/** @param {Told} e */
const factorOf = (e) => factors()[e.details.type] ?? e.details.type ?? "";

/** Whether somebody did it to themselves. @param {Told} e */
const toSelf = (e) => !e.target || e.target === e.actor;

/** @param {string} who @param {Told} e */
function login(who, e) {
  if (e.details.factor === "device") return F("%s signed in the program “%s”", who, e.details.program);
  const how = means()[e.details.factor] ?? "";
  return e.details.device === "new" ? F("%s signed in %s on a new device", who, how) : F("%s signed in %s", who, how);
}

/** Sentences by action: `who` did it, `whom` it concerns. @type {Record<string, (who: string, whom: string, e: Told) => string>} */
const sentences = {
  "session.login": (who, _, e) => login(who, e),
  "session.refuse": (_, whom) => (whom ? F("A sign-in as %s was refused", whom) : T("A sign-in with an unknown address was refused")),
  "session.end": (who, whom, e) => (e.details.by ? F("Another service signed out %s", whom) : F("%s signed out a device", who)),
  "session.end-all": (who, whom, e) => (toSelf(e) ? F("%s signed out all devices", who) : F("%s signed out all devices of %s", who, whom)),
  "token.uid": (who) => F("%s got a token that names the account", who),
  "token.create": (who, _, e) => F("%s created the API token “%s”", who, e.details.name),
  "token.revoke": (who, _, e) => F("%s revoked the API token “%s”", who, e.details.name),
  "token.network": (who, _, e) => F("The API token “%2$s” of %1$s was used from a new network", who, e.details.name),
  "password.reset-request": (who, whom) => F("%s had a link for a new password sent to %s", who, whom),
  "password.reset": (_, whom) => F("The link for a new password was used for %s", whom),
  "password.change": (who) => F("%s changed the password", who),
  "person.signup": (who) => F("%s created the account", who),
  "person.create": (who, whom) => F("%s registered %s", who, whom),
  "person.verify": (who, whom) => F("%s confirmed the email address of %s", who, whom),
  "person.limits": (who, whom) => F("%s changed the limits of %s", who, whom),
  "person.delete": (who, whom, e) => (toSelf(e) ? F("%s deleted the account", who) : F("%s deleted the account of %s", who, whom)),
  "person.suspend": (who, whom) => F("%s suspended %s", who, whom),
  "person.reactivate": (who, whom) => F("%s reactivated %s", who, whom),
  "person.export": (who, whom, e) => (toSelf(e) ? F("%s downloaded a copy of the account’s data", who)
    : F("%s exported the data of %s", who, whom)),
  "profile.update": (who) => F("%s changed the profile", who),
  "profile.avatar": (who) => F("%s changed the profile picture", who),
  "email.add": (who, _, e) => F("%s added the email address %s", who, e.object),
  "email.remove": (who, _, e) => F("%s removed the email address %s", who, e.object),
  "email.primary": (who, _, e) => F("%s made %s the main address", who, e.object),
  "email.verification": (who, _, e) => F("%s asked for an email that confirms the address %s", who, e.object),
  "email.verify": (who, _, e) => F("%s confirmed the email address %s", who, e.object),
  "factor.register": (who, _, e) => F("%s began to set up %s", who, factorOf(e)),
  "factor.add": (who, _, e) => F("%s set up %s", who, factorOf(e)),
  "factor.use": (who, _, e) => F("%s tried out %s", who, factorOf(e)),
  "factor.discard": (who, _, e) => F("%s stopped setting up %s", who, factorOf(e)),
  "factor.remove": (who, _, e) => F("%s removed %s", who, factorOf(e)),
  "factor.guesses": (who) => F("Somebody entered several wrong codes for %s", who),
  "factor.cloned": (who) => F("A passkey of %s may have been copied", who),
  "factor.reset": (who, whom) => F("%s deleted the second factors of %s", who, whom),
  "authenticator.rename": (who) => F("%s renamed a passkey", who),
  "device.approve": (who, _, e) => F("%s allowed the program “%s” to sign in", who, e.details.program),
  "device.refuse": (who, _, e) => F("%s refused the sign-in of the program “%s”", who, e.details.program),
  "security.undo": (_, whom) => F("A change to the account of %s was undone with the link in an email", whom),
  "security.end": (_, whom) => F("All devices of %s were signed out with the link in an email", whom),
  "organization.create": (who) => F("%s created the organization", who),
  "organization.leave": (who) => F("%s left the organization", who),
  "organization.update": (who) => F("%s changed the organization’s profile", who),
  "organization.theme": (who) => F("%s changed the organization’s colors", who),
  "organization.avatar": (who) => F("%s changed the organization’s logo", who),
  "organization.security": (who, _, e) => (e.details.mfaRequired === "on" ? F("%s made the second factor mandatory", who)
    : F("%s made the second factor optional", who)),
  "organization.uploadorigins": (who) => F("%s changed which websites may embed uploads", who),
  "organization.host": (who) => F("%s changed the organization’s address", who),
  "organization.limits": (who) => F("%s changed the organization’s limits", who),
  "organization.subscribe": (who) => F("%s changed the organization’s plan", who),
  "organization.set": (who) => F("%s changed the organization’s settings", who),
  "organization.undo": (who) => F("%s undid a change to the organization", who),
  "organization.delete": (who) => F("%s deleted the organization", who),
  "member.join": (_, whom) => F("%s joined the organization through another service", whom),
  "member.set": (who, whom) => F("%s set membership and permissions of %s", who, whom),
  "member.roles": (who, whom) => F("%s changed the permissions of %s", who, whom),
  "member.remove": (who, whom) => F("%s removed %s from the organization", who, whom),
  "invitation.create": (who, _, e) => (e.object === "shared" ? F("%s created an invitation link", who) : F("%s invited %s", who, e.object)),
  "invitation.revoke": (who, _, e) => (e.object === "shared" ? F("%s revoked an invitation link", who)
    : F("%s revoked the invitation of %s", who, e.object)),
  "invitation.accept": (who) => F("%s joined the organization", who),
  "operator.add": (who, whom) => F("%s made %s an operator", who, whom),
  "operator.remove": (who, whom) => F("%s ended the operator role of %s", who, whom),
  "console.read": (who) => F("%s looked something up in the console", who),
  "console.change": (who) => F("%s changed something in the console", who),
  "mailbox.put": (who) => F("%s changed the settings of a mailbox", who),
  "mailbox.picture.put": (who) => F("%s changed the picture of the mailbox", who),
  "mailbox.picture.delete": (who) => F("%s removed the picture of the mailbox", who),
  "mailbox.delete": (who) => F("%s removed the mailbox", who),
  "mailbox.suspend": (who, whom) => F("%s suspended the mailbox of %s", who, whom),
  "mailbox.reactivate": (who, whom) => F("%s reactivated the mailbox of %s", who, whom),
  "mailboxgroup.create": (who) => F("%s created a group of mailboxes", who),
  "mailboxgroup.put": (who) => F("%s changed a group of mailboxes", who),
  "mailboxgroup.delete": (who) => F("%s deleted a group of mailboxes", who),
  "adminunit.put": (who) => F("%s changed the rules for transfers", who),
  "reservation.cancel": (who) => F("%s canceled an upload", who),
  "reservation.end": (who, whom) => F("%s ended an unfinished upload to %s", who, whom),
  "transfer.deliver": (who, whom, e) => N("%2$s delivered %1$d file", "%2$s delivered %1$d files", Number(e.details.objects) || 0, who),
  "transfer.access": (who) => F("%s opened a transfer", who),
  "transfer.update": (who) => F("%s changed a transfer", who),
  "transfer.recipients.add": (who, _, e) => N("%2$s added %1$d recipient to a transfer", "%2$s added %1$d recipients to a transfer",
    Number(e.details.recipients) || 1, who),
  "transfer.recipients.remove": (who) => F("%s removed a recipient from a transfer", who),
  "transfer.resend": (who, _, e) => (e.details.newLink === "true" ? F("%s sent a recipient a new link", who)
    : F("%s sent the link to a recipient again", who)),
  "transfer.remind": (who, _, e) => N("%2$s reminded %1$d recipient of a transfer", "%2$s reminded %1$d recipients of a transfer",
    Number(e.details.recipients) || 1, who),
  "transfer.extension.ask": (who) => F("%s asked for more time to download", who),
  "transfer.forward": (who) => F("%s forwarded a transfer", who),
  "transfer.revoke": (who, _, e) => (e.details.reason === "downloaded" ? T("A transfer ended after its last download")
    : F("%s revoked a transfer", who)),
  "transfer.hide": (who) => F("%s removed a transfer from the list", who),
  "transfer.pin": (who) => F("%s kept a transfer beyond its end", who),
  "transfer.unpin": (who) => F("%s no longer keeps a transfer beyond its end", who),
  "transfer.inspect": (who) => F("%s had a transfer checked for malware again", who),
  "transfer.download.anyway": (who) => F("%s downloaded a file in spite of a warning", who),
  "transfer.sender-checked": () => T("The sender of a transfer confirmed the email address"),
  "receipt.erase": (who) => F("%s erased a receipt", who),
  "request.create": (who) => F("%s created a request", who),
  "request.ask": (who, _, e) => N("%2$s asked %1$d person for documents", "%2$s asked %1$d people for documents",
    Number(e.details.parties) || 1, who),
  "request.change": (who) => F("%s changed a request", who),
  "request.delete": (who) => F("%s deleted a request", who),
  "request.open": (_, whom) => F("A request of %s was opened for the first time", whom),
  "request.accepted": (who) => F("%s accepted a document", who),
  "request.returned": (who) => F("%s sent a document back", who),
  "request.remind": (who, _, e) => N("%2$s reminded %1$d person of a request", "%2$s reminded %1$d people of a request",
    Number(e.details.parties) || 1, who),
  "webhook.create": (who, _, e) => F("%s created a webhook to %s", who, e.details.host),
  "webhook.update": (who, _, e) => F("%s changed the webhook to %s", who, e.details.host),
  "webhook.rotate": (who, _, e) => F("%s replaced the secret of the webhook to %s", who, e.details.host),
  "webhook.delete": (who, _, e) => F("%s deleted the webhook to %s", who, e.details.host),
  "webhook.disable": (_, whom, e) => F("The webhook to %s was turned off", e.details.host),
  "webhook.export": (_, whom, e) => F("A transfer was copied to %s", e.details.host),
  "hold.add": (who, _, e) => F("%s placed a hold for the case “%s”", who, e.details.case),
  "hold.end": (who, _, e) => F("%s ended a hold for the case “%s”", who, e.details.case),
  "hold.export": (who, _, e) => F("%s exported what is held for the case “%s”", who, e.details.case),
  "storage.check": (who) => F("%s started a check of the storage", who),
  "storage.check.cancel": (who) => F("%s canceled a check of the storage", who),
  "storage.accept": (who) => F("%s accepted the state of the storage", who),
  "audit.stream": (_, whom, e) => (e.details.state === "off" ? T("The stream of the audit ended") : T("The stream of the audit began")),
  "installation.selftest": (who, _, e) => (e.details.result === "failed" ? F("%s ran the self-test, and it failed", who)
    : F("%s ran the self-test", who)),
};

/** What happened, in a sentence; the action of an entry that a newer server has written. @param {Told} e */
export function sentenceOf(e) {
  const sentence = sentences[e.action];
  return sentence ? sentence(actorOf(e), e.target || actorOf(e), e) : e.action;
}
