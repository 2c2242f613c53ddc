// Mails to members who leave, are removed, or whose organization is deleted.

package notice

import (
	"context"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// Removed mails a member who is removed from an organization. Call it before the removal.
func (ns *Notices) Removed(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person) error {
	return ns.mailParting(ctx, tx, o, p, token.Client{}, mail.MemberRemoved)
}

// Left mails a member who leaves an organization. Call it before the membership ends.
func (ns *Notices) Left(ctx context.Context, tx *postgres.Store, o id.Organization, caller token.Caller) error {
	return ns.mailParting(ctx, tx, o, caller.Person, caller.Client, mail.MemberLeft)
}

func (ns *Notices) mailParting(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person, c token.Client,
	template string) error {
	organization, err := tx.Organization(ctx, o)
	if err != nil {
		return err
	}
	to, err := tx.Addressee(ctx, p)
	if err != nil {
		return err
	}
	return ns.Inform(ctx, tx, to, p, c, Notice{Template: template, Data: Organization(organization.Profile.Name)})
}

// Organization returns the data of a mail about an organization. An organization may have no name.
func Organization(name string) map[string]any {
	data := map[string]any{}
	if name != "" {
		data["organization"] = name
	}
	return data
}

// farewellJob is the job that mails members of a deleted organization.
type farewellJob struct {
	Members []id.Person `json:"members"`
	Name    string      `json:"name"` // of the organization
	At      time.Time   `json:"at"`   // when it was deleted
}

// Kind implements river.JobArgs.
func (farewellJob) Kind() string { return "identity_farewell" }

// Farewell mails the members of an organization that is being deleted. Of a large organization jobs do so, soon after tx
// commits.
func (ns *Notices) Farewell(ctx context.Context, tx *postgres.Store, members []id.Person, name string) error {
	j := farewellJob{Members: members, Name: name, At: ns.now()}
	if len(members) <= announceBatch {
		return ns.mailFarewell(ctx, tx, j)
	}
	for batch := range slices.Chunk(members, announceBatch) {
		j.Members = batch
		if err := ns.jobs.Enqueue(ctx, tx.Tx(), j); err != nil {
			return err
		}
	}
	return nil
}

// workFarewell queues the mails of one batch. A retry after the commit repeats them.
func (ns *Notices) workFarewell(ctx context.Context, j farewellJob) error {
	return ns.store.InTx(ctx, func(tx *postgres.Store) error { return ns.mailFarewell(ctx, tx, j) })
}

func (ns *Notices) mailFarewell(ctx context.Context, tx *postgres.Store, j farewellJob) error {
	contacts, err := tx.Contacts(ctx, j.Members)
	if err != nil {
		return err
	}
	data := Organization(j.Name)
	data["at"] = j.At
	msgs := make([]mail.Message, len(contacts))
	for i, to := range contacts {
		msgs[i] = mail.Message{
			Host: to.Host, To: to.Email, ToName: to.Name, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.OrganizationDeleted,
			Reference: to.Person.String(), Data: data,
		}
	}
	_, err = ns.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}
