// Subjects and sentences of mails about the security of an account.

package mail

import "strconv"

// changed ends the mails about changes that an attacker might have made, with the link that says so.
func changed(c *composer) {
	circumstances(c)
	c.button(c.T("This wasn’t me"))
	if c.data.text("power") == PowerUndo {
		c.note(c.F("If this wasn’t you, use this link. It signs out every device, undoes this change and everything after it, and lets you "+
			"choose a new password. It works until %s.", c.moment("expiresAt")))
	} else {
		c.note(c.F("If this wasn’t you, use this link to sign out every device. It works until %s.", c.moment("expiresAt")))
	}
}

// circumstances adds when and from where something was done.
func circumstances(c *composer) {
	c.fact(c.T("Time"), c.moment("at"))
	c.fact(c.T("IP address"), c.data.line("clientAddress"))
}

// addressOf returns the address that a mail is about.
func (c *composer) addressOf() string { return line(c.data.text("address"), maxSubject) }

func addressAdded(c *composer) {
	c.out.Subject = c.T("An email address was added to your account")
	c.say(c.F("%s was added to your %s account.", c.addressOf(), c.product))
	changed(c)
}

func addressVerified(c *composer) {
	c.out.Subject = c.T("A new email address of your account was confirmed")
	c.say(c.F("%s is confirmed. You can now use it to sign in to your %s account.", c.addressOf(), c.product))
	changed(c)
}

func addressRemoved(c *composer) {
	c.out.Subject = c.T("An email address was removed from your account")
	c.say(c.F("%s was removed from your %s account.", c.addressOf(), c.product))
	changed(c)
}

func primaryChanged(c *composer) {
	c.out.Subject = c.T("The main address of your account was changed")
	c.say(c.F("The main address of your %s account is now %s.", c.product, c.addressOf()))
	changed(c)
}

func passwordChanged(c *composer) {
	c.out.Subject = c.T("Your password was changed")
	c.say(c.F("The password of your %s account was changed. All other devices were signed out.", c.product))
	changed(c)
}

func passwordReset(c *composer) {
	c.out.Subject = c.T("Your password was reset")
	c.say(c.F("The password of your %s account was reset with a link we sent by email. All other devices were signed out.", c.product))
	changed(c)
}

func factorAdded(c *composer) {
	switch c.data.text("type") {
	case "recovery":
		c.out.Subject = c.T("New recovery codes were created for your account")
		c.say(c.F("New recovery codes were created for your %s account. The old ones no longer work.", c.product))
	case "webauthn":
		c.out.Subject = c.T("A passkey was added to your account")
		c.say(c.F("The passkey signs in to %s without a password. From now on, signing in with the password also asks for a second factor.",
			c.product))
	default:
		c.out.Subject = c.T("An authenticator app was added to your account")
		c.say(c.F("From now on, signing in to %s also asks for a code from your authenticator app.", c.product))
	}
	c.fact(c.T("Name"), c.data.line("name"))
	changed(c)
}

func factorRemoved(c *composer) {
	switch c.data.text("type") {
	case "recovery":
		c.out.Subject = c.T("The recovery codes of your account were removed")
		c.say(c.F("The recovery codes of your %s account no longer work.", c.product))
	case "webauthn":
		c.out.Subject = c.T("A passkey was removed from your account")
		c.say(c.F("The passkey no longer signs in to %s.", c.product))
	default:
		c.out.Subject = c.T("The authenticator app was removed from your account")
		c.say(c.F("Signing in to %s no longer asks for a code from your authenticator app.", c.product))
	}
	c.fact(c.T("Name"), c.data.line("name"))
	changed(c)
}

func passkeyCloned(c *composer) {
	c.out.Subject = c.T("A passkey of your account may have been copied")
	c.say(c.F("We refused a sign-in to your %s account: the passkey’s counter went back. That happens when somebody has a copy of "+
		"the passkey.", c.product))
	c.fact(c.T("Name"), c.data.line("name"))
	circumstances(c)
	c.note(c.T("Remove this passkey on your account page, and add a new one."))
}

func factorGuesses(c *composer) {
	c.out.Subject = c.T("Someone entered wrong codes for your account")
	c.say(c.F("Someone entered ten wrong codes in a row for the second factor of your %s account. We now wait longer after each attempt.",
		c.product))
	circumstances(c)
	c.note(c.T("If it wasn’t you, change your password now and sign out everywhere."))
}

func newDevice(c *composer) {
	c.out.Subject = c.T("New sign-in to your account")
	c.say(c.F("Someone signed in to your %s account from a new device. If it was you, there’s nothing to do.", c.product))
	c.fact(c.T("Device"), c.data.line("device"))
	changed(c)
}

func apiTokenCreated(c *composer) {
	c.out.Subject = c.T("An API token was created for your account")
	c.say(c.F("An API token was created for your %s account. A program that has it can act in your name. If it was you, there’s "+
		"nothing to do.", c.product))
	c.fact(c.T("Name"), c.data.line("name"))
	c.fact(c.T("Permissions"), c.data.line("scopes"))
	c.fact(c.T("Valid until"), c.moment("validUntil"))
	changed(c)
}

func exportTarget(c *composer) {
	c.out.Subject = c.T("An export target of your account was changed")
	c.say(c.F("An export target was created or changed with your %s account. Transfers that arrive are copied to it. If it was you, there’s "+
		"nothing to do.", c.product))
	c.fact(c.T("Server"), c.data.line("host"))
	changed(c)
}

func apiTokenExpiring(c *composer) {
	c.out.Subject = c.T("An API token expires soon")
	c.say(c.F("The API token “%s” of your %s account works until %s. Create a new one for the programs that use it.", c.data.line("name"),
		c.product, c.moment("expiresAt")))
	c.button(c.T("Show API tokens"))
}

func webhookDisabled(c *composer) {
	c.out.Subject = c.T("A webhook was turned off")
	if c.data.flag("gone") {
		c.say(c.F("The receiver of the webhook to %s of your %s account wants no more messages. It gets none until you turn the webhook "+
			"on again.", c.data.line("host"), c.product))
	} else {
		c.say(c.F("The webhook to %s of your %s account has failed for three days. It gets no more messages until you turn it on again.",
			c.data.line("host"), c.product))
	}
	c.button(c.T("Show webhooks"))
}

func dataExported(c *composer) {
	c.out.Subject = c.T("A copy of your data was downloaded")
	c.say(c.F("Someone downloaded a copy of all data of your %s account. If it was you, there’s nothing to do.", c.product))
	changed(c)
}

func changeUndone(c *composer) {
	c.out.Subject = c.T("A change to your account was undone")
	c.say(c.F("Someone used the link in one of our emails to say that a change to your %s account wasn’t theirs. We signed out every device "+
		"and undid the change and everything after it.", c.product))
	if c.data.text("password") != "" {
		c.say(c.T("The old password no longer works. We sent a link to choose a new one to the account’s main address."))
	}
	circumstances(c)
}

func sessionsEnded(c *composer) {
	c.out.Subject = c.T("Your account was signed out on every device")
	c.say(c.F("Someone used the link in one of our emails to say that a change to your %s account wasn’t theirs. We signed out every device "+
		"and changed nothing else. Please sign in again.", c.product))
	circumstances(c)
}

func accountDeleted(c *composer) {
	c.out.Subject = c.T("Your account was deleted")
	c.say(c.F("Your %s account was permanently deleted, with its mailbox and everything you received. This can’t be undone.", c.product))
	c.fact(c.T("Deleted mailbox"), c.data.line("mailbox"))
	c.fact(c.T("Deleted transfers you received"), c.counted("received"))
	c.fact(c.T("Transfers you sent, which recipients keep until they expire"), c.counted("sent"))
	c.fact(c.T("Ended membership"), c.data.line("organization"))
	circumstances(c)
	if c.secret["link"] != "" {
		c.button(c.T("Open my certificate of erasure"))
		c.note(c.T("The link opens a signed certificate as soon as everything is erased. Keep this email: nobody else gets the link."))
	}
}

// counted returns a number of the data, with a plus sign where the count stopped.
func (c *composer) counted(key string) string {
	n := c.data.number(key)
	if most := c.data.number("mostCounted"); most > 0 && n >= most {
		return strconv.FormatInt(n, 10) + "+"
	}
	return strconv.FormatInt(n, 10)
}

func memberRemoved(c *composer) {
	c.out.Subject = c.T("You were removed from an organization")
	c.say(c.F("An administrator removed you from an organization on %s. You keep your account. You were signed out on every device, so "+
		"please sign in again.", c.product))
	c.fact(c.T("Organization"), c.data.line("organization"))
	circumstances(c)
}

func memberLeft(c *composer) {
	c.out.Subject = c.T("You have left an organization")
	c.say(c.F("You left an organization on %s. You keep your account.", c.product))
	c.fact(c.T("Organization"), c.data.line("organization"))
	circumstances(c)
	c.note(c.T("If it wasn’t you, change your password now and sign out everywhere."))
}

func organizationDeleted(c *composer) {
	c.out.Subject = c.T("Your organization was deleted")
	c.say(c.F("An administrator deleted an organization on %s that you were a member of. You keep your account. Please sign in again.",
		c.product))
	c.fact(c.T("Organization"), c.data.line("organization"))
	circumstances(c)
}
