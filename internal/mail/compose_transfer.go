// Subjects and sentences of mails about transfers.

package mail

import (
	"strings"
	"time"
)

// sender returns "name (address)", or the one of them that is not empty. An address that was not checked is marked.
func (c *composer) sender() string {
	name, address := c.data.line("sender"), line(c.data.text("senderEmail"), maxSubject)
	if name == "" || strings.EqualFold(name, inert(address)) {
		name, address = address, ""
	}
	var notes []string
	if address != "" {
		notes = append(notes, address)
	}
	if c.data.flag("senderUnverified") {
		notes = append(notes, c.T("address not checked"))
	}
	if len(notes) == 0 {
		return name
	}
	return name + " (" + strings.Join(notes, ", ") + ")"
}

// answers adds the answers to the questions of the mailbox.
func (c *composer) answers() {
	list := c.data.answers()
	for _, a := range list[:min(len(list), MaxAnswers)] {
		value := inert(line(a.Value, maxValue))
		if day, err := time.Parse(time.DateOnly, a.Value); err == nil && a.Format == "date" {
			value = c.Date(day)
		}
		c.fact(inert(line(a.Title, maxName)), value)
	}
}

// list adds the first files, at most limit, and how many there are besides. summed: with the SHA-256 of each.
func (c *composer) list(limit, count int, summed bool) {
	files := c.data.files()
	for _, f := range files[:min(len(files), limit)] {
		entry := listed{Name: inert(line(f.Name, maxFile)), Size: c.Bytes(f.Size)}
		if summed {
			entry.SHA256 = line(f.SHA256, 64)
		}
		c.out.Files = append(c.out.Files, entry)
	}
	if rest := count - len(c.out.Files); rest > 0 && len(c.out.Files) > 0 {
		c.out.More = c.N("and %d more file", "and %d more files", rest)
	}
}

// open reports whether the mail may show the contents of the transfer: only without password and code.
func (c *composer) open() bool { return c.data.text("protection") == "none" }

// figures adds subject, number and size of the files, and the expiry.
func (c *composer) figures() {
	if c.open() {
		c.fact(c.T("Subject"), line(c.data.text("subject"), maxSubject))
		if n := c.data.number("fileCount"); n > 0 {
			c.fact(c.T("Content"), c.N("%d file, %s", "%d files, %s", int(n), c.Bytes(c.data.number("totalBytes"))))
		}
	}
	c.fact(c.T("Available until"), c.moment("expiresAt"))
}

// protectionNote adds how the transfer is opened.
func (c *composer) protectionNote() {
	switch c.data.text("protection") {
	case "password":
		c.note(c.T("These files are protected with a password. Ask the sender for it."))
	case "recipientAuthentication":
		c.note(c.T("To open the files, sign in or ask for a code. We’ll send it to this address."))
	default:
		c.note(c.T("Please don’t forward this email: anyone with the link can open the files."))
	}
}

func transferDelivered(c *composer) {
	sender := c.sender()
	c.out.Subject = c.F("%s sent you files", sender)
	if subject := line(c.data.text("subject"), maxSubject); c.open() && subject != "" {
		c.out.Subject = c.F("%s sent you files: %s", sender, subject)
	}
	c.out.Title = c.F("%s sent you files", sender)
	if name := c.data.line("sender"); name != "" && !c.data.flag("senderUnverified") {
		c.out.Title = c.F("%s sent you files", name)
	}
	c.say(c.F("%s sent you files with %s.", sender, c.product))
	if c.open() {
		c.out.Quote = block(c.data.text("message"), maxQuote)
		c.out.Preview = inert(line(c.out.Quote, maxPreview))
		c.answers()
		c.list(MaxNamed, int(c.data.number("fileCount")), false)
	}
	c.figures()
	c.button(c.T("View the files"))
	c.inbox()
	c.protectionNote()
	if c.data.flag("checking") {
		c.note(c.T("The files are being checked for malware. You can download them as soon as that is done."))
	}
	if c.data.flag("lastOfDay") {
		c.note(c.T("Your mailbox received many deliveries today, so we may not email you about further ones. You’ll find all of them in " +
			"your inbox."))
	}
}

func transferInfected(c *composer) {
	if mailbox := c.data.line("mailbox"); mailbox != "" {
		c.out.Subject = c.F("Malware was found in your files for %s", mailbox)
		c.say(c.F("Malware was found in files that you sent to %s. They can’t be downloaded.", mailbox))
		c.fact(c.T("Time"), c.moment("at"))
		c.note(c.T("Check your computer before you send the files again."))
		c.note(c.T("If you didn’t upload anything, someone else entered your address. You can ignore this email."))
		return
	}
	c.out.Subject = c.T("Malware was found in a transfer")
	c.say(c.F("Malware was found in files from %s. They can’t be downloaded.", c.sender()))
	c.fact(c.T("Subject"), line(c.data.text("subject"), maxSubject))
	c.fact(c.T("File"), inert(line(c.data.text("file"), maxFile)))
	c.fact(c.T("Finding"), inert(line(c.data.text("finding"), maxName)))
	c.fact(c.T("Time"), c.moment("at"))
	c.inbox()
}

func uploadConfirmation(c *composer) {
	mailbox := c.data.line("mailbox")
	c.out.Subject = c.F("Your files have reached %s", mailbox)
	files := c.data.files()
	count, total := int(c.data.number("fileCount")), c.data.number("totalBytes")
	if len(files) == 0 {
		c.say(c.F("%s received your files with %s.", mailbox, c.product))
	} else {
		c.say(c.F("%s received these files with %s.", mailbox, c.product))
	}
	c.list(MaxFiles, count, true)
	c.answers()
	c.fact(c.T("Received"), c.moment("at"))
	c.fact(c.T("Content"), c.N("%d file, %s", "%d files, %s", count, c.Bytes(total)))
	if len(files) == 0 {
		c.note(c.T("The files aren’t listed because this address wasn’t confirmed."))
	} else {
		c.note(c.T("Use the SHA-256 values to check that the files arrived unchanged."))
	}
	switch {
	case c.secret["link"] == "":
	case len(files) == 0:
		c.button(c.T("Yes, I sent this: open my receipt"))
		c.note(c.T("The receipt proves what you delivered. Keep this email: its link opens the receipt on any device."))
	default:
		c.button(c.T("Open my receipt"))
		c.note(c.T("Keep this email: its link opens the receipt on any device."))
	}
	switch {
	case c.data.flag("attached"):
		c.note(c.T("The signed receipt is attached. It proves what you delivered. Keep it: anyone can check it."))
		c.out.SecondLabel, c.out.Second = c.T("Check a receipt"), c.data.text("verify")
	case c.data.flag("attach"):
		c.note(c.F("The signed receipt could not be attached. You can ask %s for it.", mailbox))
	}
	c.note(c.T("If you didn’t upload anything, someone else entered your address. You can ignore this email."))
}

func uploadUnfinished(c *composer) {
	mailbox := c.data.line("mailbox")
	c.out.Subject = c.F("Your files for %s are not delivered yet", mailbox)
	c.say(c.F("You uploaded files for %s, but one step is missing: they are not delivered.", mailbox))
	c.say(c.T("Open the page in the browser you used, and finish the delivery there. Otherwise the files are deleted."))
	c.fact(c.T("Content"), c.N("%d file, %s", "%d files, %s", int(c.data.number("fileCount")), c.Bytes(c.data.number("totalBytes"))))
	c.fact(c.T("Kept until"), c.moment("expiresAt"))
	c.button(c.T("Finish the delivery"))
	c.note(c.T("If you didn’t upload anything, someone else entered your address. You can ignore this email."))
}

func transferAccessed(c *composer) {
	recipient := c.data.line("recipient")
	if recipient == "" { // opened by the link alone
		recipient = c.T("Somebody")
	}
	c.out.Subject = c.F("%s opened your transfer", recipient)
	c.say(c.F("%s opened your transfer for the first time.", recipient))
	c.fact(c.T("Subject"), line(c.data.text("subject"), maxSubject))
	c.fact(c.T("Time"), c.moment("at"))
	c.inbox()
}

func transferExpiring(c *composer) {
	if c.data.text("role") == "sender" {
		c.out.Subject = c.T("Your transfer expires soon")
		c.say(c.T("Files you sent will be deleted soon. Recipients who still need them should download them now."))
	} else {
		c.out.Subject = c.T("Files sent to you expire soon")
		c.say(c.F("Files that %s sent you will be deleted soon. If you need them, download them now.",
			c.sender()))
	}
	c.figures()
	c.button(c.T("View the files"))
	c.inbox()
	if c.secret["link"] != "" && c.data.text("role") != "sender" {
		c.protectionNote()
	}
}

// viewFiles leads a recipient to the files.
func (c *composer) viewFiles() {
	c.figures()
	c.button(c.T("View the files"))
	if c.out.Link != "" {
		c.protectionNote()
	}
}

func transferReminder(c *composer) {
	c.out.Subject = c.F("Reminder: %s sent you files", c.sender())
	c.say(c.F("You have not downloaded the files yet that %s sent you.", c.sender()))
	c.viewFiles()
}

func extensionAsked(c *composer) {
	recipient := c.data.line("recipient")
	if recipient == "" { // asked by the link alone
		recipient = c.T("Somebody")
	}
	c.out.Subject = c.F("%s asks for files that have expired", recipient)
	c.say(c.F("%s asks you to make the files of a transfer available again.", recipient))
	c.out.Quote = block(c.data.text("message"), maxQuote)
	c.fact(c.T("Subject"), line(c.data.text("subject"), maxSubject))
	c.fact(c.T("Expired"), c.moment("expiredAt"))
	c.fact(c.T("Can be extended until"), c.moment("until"))
	c.button(c.T("Extend transfer"))
	c.note(c.T("If you do nothing, the files are deleted. Anyone with the link can ask once a day."))
}

func transferExtended(c *composer) {
	c.out.Subject = c.F("The files of %s are available again", c.sender())
	c.say(c.F("%s has extended the transfer that you asked for.", c.sender()))
	c.viewFiles()
}

func accessCode(c *composer) {
	c.out.Subject = c.T("Your access code")
	c.say(c.F("Enter this code to open the files that %s sent you.", c.sender()))
	c.out.Code = c.secret["code"]
	c.fact(c.T("Valid until"), c.moment("expiresAt"))
	c.note(c.T("Never share this code. If you didn’t ask for it, you can ignore this email."))
}

func senderCode(c *composer) {
	c.out.Subject = c.T("Your confirmation code")
	c.say(c.F("Enter this code to confirm your address. Your files can then be delivered to %s.", c.data.line("mailbox")))
	c.out.Code = c.secret["code"]
	c.fact(c.T("Valid until"), c.moment("expiresAt"))
	c.note(c.T("Never share this code. If you didn’t ask for it, you can ignore this email."))
}

func deliveryFailed(c *composer) {
	recipient := line(c.data.text("recipient"), maxSubject)
	c.out.Subject = c.F("Your transfer could not be delivered to %s", recipient)
	c.say(c.F("We couldn’t deliver the email about your transfer to %s.", recipient))
	c.fact(c.T("Subject"), line(c.data.text("subject"), maxSubject))
	c.fact(c.T("Time"), c.moment("at"))
	c.fact(c.T("Reply from the mail server"), inert(line(c.data.text("answer"), maxAnswer)))
	c.inbox()
	c.note(c.T("Check the address and send the files again."))
}

func vanityLinkCleared(c *composer) {
	c.out.Subject = c.T("Your mailbox has lost its short link")
	c.say(c.F("Your mailbox moved to %s, where the short link “%s” is already taken. It was therefore removed.",
		inert(line(c.data.text("host"), maxSubject)), c.data.line("vanityLink")))
	c.say(c.T("Your mailbox still works with its permanent link, and you can choose another short link."))
	c.button(c.T("Open mailbox"))
}
