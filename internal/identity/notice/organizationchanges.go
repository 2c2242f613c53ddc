// Mails about sensitive changes of an organization, to all its administrators.

package notice

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// RoleBefore is what restores the role of a member.
type RoleBefore struct {
	Person     id.Person  `json:"person"`
	Member     bool       `json:"member"`
	Roles      []string   `json:"roles"`
	AdminSince *time.Time `json:"adminSince,omitempty"`
}

// Change keeps a sensitive change and mails it to all administrators. Those who have been one for identity.SeniorAdministrator,
// and the one who has been it longest, get a link that undoes it: the others may be the attacker's. A change of the same kind and object
// within identity.SecurityMailInterval is neither kept nor mailed: undoing the earlier one undoes it too. The organization is locked.
func (ns *Notices) Change(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization,
	c token.SensitiveChange) error {
	now, key := ns.now(), seal.NewKey()
	n := postgres.NewOrganizationChange{Organization: o, Kind: string(c.Kind), Object: c.Object, Now: now,
		Since: now.Add(-identity.SecurityMailInterval)}
	if c.Before != nil {
		n.UndoHash = seal.Hash(key)
	}
	if by.Kind == audit.Person || by.Kind == audit.Administrator {
		n.By = by.Person
	}
	var err error
	if n.Before, err = json.Marshal(c.Before); err != nil {
		return fmt.Errorf("encode change of organization: %w", err)
	}
	if kept, err := tx.KeepOrganizationChange(ctx, n); err != nil || !kept {
		return err
	}
	var also []id.Person
	if before, ok := c.Before.(RoleBefore); ok && c.Kind == token.AdministratorRemoved && by.Person != before.Person {
		also = append(also, before.Person)
	}
	stewards, err := tx.Stewards(ctx, o, also)
	if err != nil {
		return err
	}
	data, err := ns.changeData(ctx, tx, by, o, c)
	if err != nil {
		return err
	}
	msgs := make([]mail.Message, 0, len(stewards))
	for _, to := range stewards {
		if c.Kind == token.AdministratorRemoved && to.Person.String() == c.Object && len(also) == 0 {
			continue // deletes the account
		}
		m := mail.Message{
			Host: to.Host, To: to.Email, ToName: to.Name, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.OrganizationChanged,
			Reference: to.Person.String(), Data: data,
		}
		if n.UndoHash != nil && to.Since != nil && to.Person.String() != c.Object &&
			(len(msgs) == 0 || postgres.Standing{AdminSince: to.Since}.Senior(now)) {
			m.Secret = map[string]string{"link": ns.Link(to.Host, "/undo/"+key+"?of=organization")}
		}
		msgs = append(msgs, m)
	}
	_, err = ns.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}

// changeData returns the data of the mails about a change.
func (ns *Notices) changeData(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization,
	c token.SensitiveChange) (map[string]any, error) {
	organization, err := tx.Organization(ctx, o)
	if err != nil {
		return nil, err
	}
	data := Organization(cmp.Or(organization.Profile.Name, organization.Profile.Hostname))
	data["change"], data["subject"], data["at"], data["expiresAt"] = string(c.Kind), c.Subject, ns.now(), ns.now().Add(ns.undo)
	switch {
	case by.Kind == audit.Operator || by.Kind == audit.Command:
		data["operator"], data["reason"] = true, by.Reason
	case !by.Person.IsZero():
		actor, err := tx.Contact(ctx, by.Person)
		if err != nil {
			return nil, err
		}
		data["actor"] = cmp.Or(actor.Name, actor.Email)
	}
	return data, nil
}
