package service_test

import (
	"testing"

	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

// TestFeedsOfADeletedOrganization: deleting an organization locks its members' feeds in the same order as other events
// do, so that the two never deadlock.
func TestFeedsOfADeletedOrganization(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann, bob := k.person("ann@example.com"), k.caller(k.person("bob@example.com"))
	o, ann, err := k.CreateOrganization(t.Context(), k.access(ann), service.NewOrganization{Name: "Acme"})
	must(t, err)
	must(t, k.SetMember(t.Context(), testkit.Command, o.UID.String(), "bob@example.com", []string{identity.RoleTransferUse}))
	first := k.caller(ann)
	for _, sql := range []string{ // an update moves her rows to the end of the table
		`UPDATE identity.persons SET name = 'Anna' WHERE uid = $1`,
		`UPDATE identity.memberships SET reference = 'x' WHERE person = $1`,
	} {
		_, err := k.db.Pool.Exec(t.Context(), sql, first.Person)
		must(t, err)
	}
	tx, err := k.db.Pool.Begin(t.Context())
	must(t, err)
	defer tx.Rollback(t.Context()) //nolint:errcheck // ended before, unless the test has failed
	tell := func(p id.Person) error {
		return events.Append(t.Context(), tx, k.clock.Now(),
			events.Event{Kind: events.TransferReceived, Subject: p.String(), Receivers: []id.Person{p}})
	}
	must(t, tell(first.Person))
	deleted := make(chan error, 1)
	go func() {
		_, err := k.DeleteOrganization(t.Context(), k.access(ann), o.UID, token.Proof{})
		deleted <- err
	}()
	poll.Until(t, "the deletion waits", func() bool { return pgtest.Waiting(t, k.db.Pool) == 1 })
	_, err = tx.Exec(t.Context(), `SET LOCAL lock_timeout = '100ms'`)
	must(t, err)
	if err := tell(bob.Person); err != nil {
		t.Errorf("the second feed is locked before the first: %v", err)
	}
	must(t, tx.Rollback(t.Context()))
	must(t, <-deleted)
}
