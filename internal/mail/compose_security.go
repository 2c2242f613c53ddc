package mail

import "strconv"

// changed ends the mails about changes that an attacker might have made, with the link that says so.
func changed(c *composer) {
	circumstances(c)
	c.button(c.T("This was not me"))
	if c.data.text("power") == PowerUndo {
		c.note(c.F("If it was not you, follow this link. It ends all sessions, undoes this change and all later ones, and lets you choose a new password. It works until %s.", c.moment("expiresAt")))
	} else {
		c.note(c.F("If it was not you, follow this link. It ends all sessions of the account. It works until %s.", c.moment("expiresAt")))
	}
}

// circumstances adds when and from where something was done.
func circumstances(c *composer) {
	c.fact(c.T("Time"), c.moment("at"))
	c.fact(c.T("Requested from"), c.data.line("clientAddress"))
}

// addressOf returns the address that a mail is about.
func (c *composer) addressOf() string { return line(c.data.text("address"), maxSubject) }

func addressAdded(c *composer) {
	c.out.Subject = c.T("An email address was added to your account")
	c.say(c.F("The address %s was added to your account at %s.", c.addressOf(), c.product))
	changed(c)
}

func addressVerified(c *composer) {
	c.out.Subject = c.T("A new email address of your account was confirmed")
	c.say(c.F("The address %s was confirmed. From now on it can be used to sign in to your account at %s.", c.addressOf(), c.product))
	changed(c)
}

func addressRemoved(c *composer) {
	c.out.Subject = c.T("An email address was removed from your account")
	c.say(c.F("The address %s was removed from your account at %s.", c.addressOf(), c.product))
	changed(c)
}

func primaryChanged(c *composer) {
	c.out.Subject = c.T("The main address of your account was changed")
	c.say(c.F("The main address of your account at %s is now %s.", c.product, c.addressOf()))
	changed(c)
}

func passwordChanged(c *composer) {
	c.out.Subject = c.T("Your password was changed")
	c.say(c.F("The password of your account at %s was changed. All other sessions were ended.", c.product))
	changed(c)
}

func passwordReset(c *composer) {
	c.out.Subject = c.T("Your password was reset")
	c.say(c.F("Somebody used the link of an email to reset the password of your account at %s. All other sessions were ended.", c.product))
	changed(c)
}

// recovery reports whether the mail is about recovery codes, not about an authenticator app.
func (c *composer) recovery() bool { return c.data.text("type") == "recovery" }

func factorAdded(c *composer) {
	if c.recovery() {
		c.out.Subject = c.T("New recovery codes were made for your account")
		c.say(c.F("You have new recovery codes for your account at %s. Earlier codes no longer work.", c.product))
	} else {
		c.out.Subject = c.T("An authenticator app was added to your account")
		c.say(c.F("From now on, signing in to %s also asks for a code from your authenticator app.", c.product))
	}
	c.fact(c.T("Name"), c.data.line("name"))
	changed(c)
}

func factorRemoved(c *composer) {
	if c.recovery() {
		c.out.Subject = c.T("The recovery codes of your account were removed")
		c.say(c.F("The recovery codes of your account at %s no longer work.", c.product))
	} else {
		c.out.Subject = c.T("The authenticator app was removed from your account")
		c.say(c.F("Signing in to %s no longer asks for a code from your authenticator app.", c.product))
	}
	c.fact(c.T("Name"), c.data.line("name"))
	changed(c)
}

func factorGuesses(c *composer) {
	c.out.Subject = c.T("Wrong codes were entered for your account")
	c.say(c.F("Ten wrong codes in a row were entered for the second factor of your account at %s. Further codes are accepted with growing delays.", c.product))
	circumstances(c)
	c.note(c.T("If it was not you, change your password at once and end all sessions."))
}

func newDevice(c *composer) {
	c.out.Subject = c.T("New sign-in to your account")
	c.say(c.F("Somebody signed in to your account at %s from a device that was not used before. If it was you, there is nothing to do.", c.product))
	c.fact(c.T("Device"), c.data.line("device"))
	changed(c)
}

func dataExported(c *composer) {
	c.out.Subject = c.T("A copy of your data was downloaded")
	c.say(c.F("Somebody downloaded a copy of all data of your account at %s. If it was you, there is nothing to do.", c.product))
	changed(c)
}

func changeUndone(c *composer) {
	c.out.Subject = c.T("A change of your account was undone")
	c.say(c.F("Somebody said that a change of your account at %s was not theirs, with the link of an email. All sessions were ended. The change and all later ones were undone.", c.product))
	if c.data.text("password") != "" {
		c.say(c.T("The password no longer works. A link to choose a new one was sent to the main address of the account."))
	}
	circumstances(c)
}

func sessionsEnded(c *composer) {
	c.out.Subject = c.T("All sessions of your account were ended")
	c.say(c.F("Somebody said that a change of your account at %s was not theirs, with the link of an email. All sessions were ended, and nothing else was changed. Please sign in again.", c.product))
	circumstances(c)
}

func accountDeleted(c *composer) {
	c.out.Subject = c.T("Your account was deleted")
	c.say(c.F("Your account at %s was deleted for good, with its mailbox and everything it had received. This cannot be undone.", c.product))
	c.fact(c.T("Deleted mailbox"), c.data.line("mailbox"))
	c.fact(c.T("Deleted transfers that you received"), c.counted("received"))
	c.fact(c.T("Transfers that you sent; they stay with their recipients until they expire"), c.counted("sent"))
	c.fact(c.T("Ended membership"), c.data.line("organization"))
	circumstances(c)
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
	c.say(c.F("An administrator removed you from an organization at %s. Your account stays. All sessions were ended, so please sign in again.", c.product))
	c.fact(c.T("Organization"), c.data.line("organization"))
	circumstances(c)
}

func memberLeft(c *composer) {
	c.out.Subject = c.T("You have left an organization")
	c.say(c.F("You left an organization at %s. Your account stays.", c.product))
	c.fact(c.T("Organization"), c.data.line("organization"))
	circumstances(c)
	c.note(c.T("If it was not you, change your password at once and end all sessions."))
}

func organizationDeleted(c *composer) {
	c.out.Subject = c.T("Your organization was deleted")
	c.say(c.F("An administrator deleted an organization at %s of which you were a member. Your account stays. Please sign in again.", c.product))
	c.fact(c.T("Organization"), c.data.line("organization"))
	circumstances(c)
}
