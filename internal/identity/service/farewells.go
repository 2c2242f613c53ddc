// Mails to members who leave, are removed, or whose organization is deleted.

package service

import (
	"context"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// mailRemoved mails a member who is removed from an organization. Call it before the removal.
func (s *Service) mailRemoved(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person) error {
	return s.mailParting(ctx, tx, o, p, token.Client{}, mail.MemberRemoved)
}

// mailLeft mails a member who leaves an organization. Call it before the membership ends.
func (s *Service) mailLeft(ctx context.Context, tx *postgres.Store, o id.Organization, caller token.Caller) error {
	return s.mailParting(ctx, tx, o, caller.Person, caller.Client, mail.MemberLeft)
}

func (s *Service) mailParting(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person, c token.Client,
	template string) error {
	organization, err := tx.Organization(ctx, o)
	if err != nil {
		return err
	}
	to, err := tx.Addressee(ctx, p)
	if err != nil {
		return err
	}
	return s.inform(ctx, tx, to, p, c, notice{template: template, data: organizationData(organization.Profile.Name)})
}

// organizationData returns the data of a mail about an organization. An organization may have no name.
func organizationData(name string) map[string]any {
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

// farewell mails the members of an organization that is being deleted. Of a large organization jobs do so, soon after tx
// commits.
func (s *Service) farewell(ctx context.Context, tx *postgres.Store, members []id.Person, name string) error {
	j := farewellJob{Members: members, Name: name, At: s.now()}
	if len(members) <= announceBatch {
		return s.mailFarewell(ctx, tx, j)
	}
	for batch := range slices.Chunk(members, announceBatch) {
		j.Members = batch
		if err := s.jobs.Enqueue(ctx, tx.Tx(), j); err != nil {
			return err
		}
	}
	return nil
}

// workFarewell queues the mails of one batch. A retry after the commit repeats them.
func (s *Service) workFarewell(ctx context.Context, j farewellJob) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error { return s.mailFarewell(ctx, tx, j) })
}

func (s *Service) mailFarewell(ctx context.Context, tx *postgres.Store, j farewellJob) error {
	contacts, err := tx.Contacts(ctx, j.Members)
	if err != nil {
		return err
	}
	data := organizationData(j.Name)
	data["at"] = j.At
	msgs := make([]mail.Message, len(contacts))
	for i, to := range contacts {
		msgs[i] = mail.Message{
			Host: to.Host, To: to.Email, ToName: to.Name, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.OrganizationDeleted,
			Reference: to.Person.String(), Data: data,
		}
	}
	_, err = s.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}
