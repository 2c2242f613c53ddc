package mail

func verifyEmail(c *composer) {
	c.out.Subject = c.F("Confirm your email address for %s", c.product)
	c.say(c.F("Please confirm that %s is your email address.", line(c.data.text("address"), maxSubject)))
	c.fact(c.T("Valid until"), c.moment("expiresAt"))
	c.button(c.T("Confirm email address"))
	c.note(c.T("If you did not ask for this, ignore this email: nothing will happen."))
}

func resetPassword(c *composer) {
	c.out.Subject = c.F("Reset your password for %s", c.product)
	c.say(c.T("Somebody asked to reset the password of your account. If it was you, choose a new password with this link."))
	c.fact(c.T("Valid until"), c.moment("expiresAt"))
	c.fact(c.T("Requested from"), c.data.line("clientAddress"))
	c.button(c.T("Choose a new password"))
	c.note(c.T("If it was not you, ignore this email: your password stays as it is."))
}

// securityNotice ends the mails about changes that an attacker might have made.
func securityNotice(c *composer) {
	c.fact(c.T("Time"), c.moment("at"))
	c.fact(c.T("Requested from"), c.data.line("clientAddress"))
	c.note(c.T("If it was not you, change your password at once and end all sessions."))
}

func addressAdded(c *composer) {
	c.out.Subject = c.T("An email address was added to your account")
	c.say(c.F("The address %s was added to your account at %s.", line(c.data.text("address"), maxSubject), c.product))
	securityNotice(c)
}

func passwordChanged(c *composer) {
	c.out.Subject = c.T("Your password was changed")
	c.say(c.F("The password of your account at %s was changed. All other sessions were ended.", c.product))
	securityNotice(c)
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
	securityNotice(c)
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
	securityNotice(c)
}

func invitation(c *composer) {
	organization, inviter := c.data.line("organization"), c.data.line("inviter")
	c.out.Subject = c.F("Invitation to join %s", organization)
	if inviter != "" {
		c.say(c.F("%s invites you to join %s at %s.", inviter, organization, c.product))
	} else {
		c.say(c.F("You are invited to join %s at %s.", organization, c.product))
	}
	c.fact(c.T("Valid until"), c.moment("expiresAt"))
	c.button(c.T("View invitation"))
	c.note(c.T("Sign in or sign up with the address this email was sent to, then accept the invitation."))
}
