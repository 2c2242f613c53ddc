// Subjects and sentences of mails to the administrators of an organization about its sensitive changes.

package mail

import "github.com/consign-dev/consign/internal/token"

// sensitive returns the sentence about a sensitive change.
func (c *composer) sensitive() string {
	switch token.Sensitive(c.data.text("change")) {
	case token.AdministratorInvited:
		return c.T("Somebody was invited to become an administrator of your organization.")
	case token.AdministratorAdded:
		return c.T("Your organization has a new administrator.")
	case token.AdministratorRemoved:
		return c.T("Somebody is no longer an administrator of your organization.")
	case token.HostnameChanged:
		return c.T("The hostnames of your organization were changed.")
	case token.FactorWaived:
		return c.T("Members of your organization no longer need a second factor.")
	case token.OriginsChanged:
		return c.T("The websites that may upload to mailboxes of your organization were changed.")
	case token.TargetChanged:
		return c.T("An export target of your organization was created or changed. Transfers that arrive are copied to it.")
	case token.HoldChanged:
		return c.T("What your organization keeps for a legal reason was changed.")
	default:
		return c.T("The rules for transfers of your organization protect less than before, or keep things longer or shorter.")
	}
}

func organizationChanged(c *composer) {
	c.out.Subject = c.T("An important setting of your organization was changed")
	c.say(c.sensitive())
	c.fact(c.T("Organization"), c.data.line("organization"))
	c.fact(c.T("Concerns"), c.data.line("subject"))
	switch {
	case c.data.flag("operator"):
		c.fact(c.T("Changed by"), c.T("the operator of this server"))
		c.fact(c.T("Reason"), c.data.line("reason"))
	default:
		c.fact(c.T("Changed by"), c.data.line("actor"))
	}
	c.fact(c.T("Time"), c.moment("at"))
	if c.secret["link"] == "" {
		c.note(c.T("If this should not have happened, ask the other administrators of your organization."))
		return
	}
	c.button(c.T("Undo this change"))
	c.note(c.F(
		"If this should not have happened, use this link. It undoes the change and signs out the person who made it. It works until %s.",
		c.moment("expiresAt")))
}

func targetsPaused(c *composer) {
	c.out.Subject = c.T("Export targets of your organization are paused")
	c.say(c.F("%s made export targets and is no longer an administrator. Nothing is copied to them until an administrator "+
		"turns them on again.", c.data.line("subject")))
	c.fact(c.T("Server"), c.data.line("hosts"))
	c.button(c.T("Show webhooks"))
}
