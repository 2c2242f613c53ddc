// Subjects and sentences of mails about requests for documents.

package mail

// asked begins a mail to a party: the items, the due time, and what follows from it.
func (c *composer) asked() {
	for _, name := range decoded[string](c.data["items"]) {
		if len(c.out.Files) == MaxFiles {
			break
		}
		c.out.Files = append(c.out.Files, listed{Name: inert(line(name, maxName))})
	}
	c.fact(c.T("Due"), c.moment("due"))
	c.button(c.T("Hand in documents"))
	if c.data.flag("refuses") {
		c.note(c.T("Nothing can be handed in after the due time."))
	}
}

// mine says whose link it is.
func (c *composer) mine() {
	c.note(c.T("You don’t need an account. You can stop at any time, and go on with the same link on any device."))
	c.note(c.T("This link is only for you. Please don’t forward this email."))
}

func requestInvitation(c *composer) {
	owner := c.data.line("owner")
	c.out.Subject = c.F("%s asks you for documents: %s", owner, c.data.line("title"))
	c.out.Title = c.F("%s asks you for documents", owner)
	c.say(c.F("“%s”: these documents are needed.", c.data.line("title")))
	c.out.Quote = block(c.data.text("message"), maxQuote)
	c.asked()
	c.mine()
}

func requestReminder(c *composer) {
	c.out.Subject = c.F("Reminder: %s waits for your documents", c.data.line("owner"))
	c.say(c.F("“%s”: these documents are still missing.", c.data.line("title")))
	c.asked()
	if kept := c.moment("keptUntil"); kept != "" {
		c.note(c.F("What you have uploaded and not handed in is kept until %s, then it is deleted.", kept))
	}
	c.mine()
}

func requestReturned(c *composer) {
	c.out.Subject = c.F("%s sent documents back to you", c.data.line("owner"))
	c.say(c.F("“%s”: please hand in these documents again.", c.data.line("title")))
	c.answers()
	c.asked()
	c.mine()
}

func requestComplete(c *composer) {
	title := c.data.line("title")
	c.out.Subject = c.F("Complete: %s", title)
	if c.data.flag("ofOwner") {
		c.say(c.F("“%s”: you have accepted every document of %s.", title, c.data.line("party")))
		c.inbox()
	} else {
		c.say(c.F("“%s”: %s has accepted every document. There is nothing left to do.", title, c.data.line("owner")))
		c.button(c.T("View the request"))
	}
	if c.data.flag("attached") {
		c.note(c.T("The signed receipt of the last delivery is attached. Anyone can check it."))
		c.out.SecondLabel, c.out.Second = c.T("Check a receipt"), c.data.text("verify")
	}
}

func requestLink(c *composer) {
	c.out.Subject = c.F("Your link for “%s”", c.data.line("owner"))
	c.say(c.F("With this link you hand in documents for %s.", c.data.line("owner")))
	c.asked()
	c.mine()
	c.note(c.T("If you didn’t ask for this link, you can ignore this email."))
}
