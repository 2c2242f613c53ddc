package mail

func verifyEmail(c *composer) {
	c.out.Subject = c.F("Confirm your email address for %s", c.product)
	c.say(c.F("Please confirm that %s is your email address.", line(c.data.text("address"), maxSubject)))
	c.fact(c.T("Valid until"), c.moment("expiresAt"))
	c.button(c.T("Confirm email address"))
	c.note(c.T("If you didn’t ask for this, you can ignore this email."))
}

func resetPassword(c *composer) {
	c.out.Subject = c.F("Reset your password for %s", c.product)
	c.say(c.T("We received a request to reset your password. If it was you, choose a new one now."))
	c.fact(c.T("Valid until"), c.moment("expiresAt"))
	c.fact(c.T("IP address"), c.data.line("clientAddress"))
	c.button(c.T("Choose a new password"))
	c.note(c.T("If it wasn’t you, you can ignore this email. Your password stays the same."))
}

func factorRequired(c *composer) {
	c.out.Subject = c.T("Your organization requires a second factor")
	if organization := c.data.line("organization"); organization != "" {
		c.say(c.F("%s now requires a second factor for signing in to %s.", organization, c.product))
	} else {
		c.say(c.F("Your organization now requires a second factor for signing in to %s.", c.product))
	}
	c.say(c.T("Set up an authenticator app on your account page, then sign in again with its code. Until then you cannot send or " +
		"receive files."))
	c.button(c.T("Open account"))
}

func invitation(c *composer) {
	organization, inviter := c.data.line("organization"), c.data.line("inviter")
	switch {
	case organization == "" && inviter == "":
		c.out.Subject = c.T("Invitation to join an organization")
		c.say(c.F("You’ve been invited to join an organization on %s.", c.product))
	case organization == "":
		c.out.Subject = c.F("%s invited you to join an organization", inviter)
		c.say(c.F("%s invited you to join an organization on %s.", inviter, c.product))
	case inviter == "":
		c.out.Subject = c.F("Invitation to join %s", organization)
		c.say(c.F("You’ve been invited to join %s on %s.", organization, c.product))
	default:
		c.out.Subject = c.F("Invitation to join %s", organization)
		c.say(c.F("%s invited you to join %s on %s.", inviter, organization, c.product))
	}
	c.fact(c.T("Valid until"), c.moment("expiresAt"))
	c.button(c.T("View invitation"))
	c.note(c.T("Sign in or sign up with the address this email was sent to, then accept the invitation."))
}
