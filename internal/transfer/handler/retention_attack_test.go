// Attacks on the rules of organizations about how long things stay (contract 4.32).

package handler_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/fault"
	holds "github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

const (
	day             = 24 * time.Hour
	importantChange = "An important setting of your organization was changed"
)

// program makes an API token of a person.
func program(p *testkit.Person, scopes ...token.Scope) *testkit.Person {
	p.Server.T.Helper()
	made := p.As(p.ID).Post(p.Server.Identity+"/tokens", object{"name": "p", "scopes": scopes}).Want(http.StatusCreated)
	return p.Server.Stranger().As(made.String("token"))
}

// cutOff waits until the tokens of people have ended, which takes up to a second.
func cutOff(t *testing.T, path string, people ...*testkit.Person) {
	t.Helper()
	for _, p := range people {
		poll.Until(t, "the token ends", func() bool { return p.Get(path).Status == http.StatusUnauthorized })
	}
}

// TestAttackRulesOfOthers: somebody who is no administrator of the organization changes none of its rules, with the own password and
// whatever the person was before, is elsewhere, or is in the console. Members read the rules, nobody else.
func TestAttackRulesOfOthers(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, eve := newOffice(t)
	unit := s.Transfer + "/adminunit"
	ruled(t, s, ann, object{"transfers": object{"least": 30}, "audit": object{"most": 60}})
	rules := ann.Get(unit).Want(http.StatusOK)
	change := object{"retention": object{"audit": object{"most": 30}}, "authKey": testkit.Password}
	admin := func(name string) (p, reads, manages *testkit.Person) {
		p = s.SignUp(name + "@example.com")
		acme.join(ann, p, identity.RoleOrganizationAdmin)
		return p, program(p, token.ScopeOrganizationRead), program(p, token.ScopeOrganizationManage)
	}
	fred, fredReads, fredManages := admin("fred")
	dora, doraReads, doraManages := admin("dora")
	sue, sueReads, sueManages := admin("sue")
	sends := program(ann, token.ScopeTransfersRead, token.ScopeTransfersSend, token.ScopeMailboxManage)
	for _, p := range []*testkit.Person{fred, dora, sue, fredReads, doraReads, sueReads, fredManages, doraManages, sueManages} {
		p.Get(unit).Want(http.StatusOK)
	}
	ann.Delete(acme.path + "/members/" + uidOf(fred)).Want(http.StatusNoContent)
	ann.Put(acme.path+"/members/"+uidOf(dora), object{"roles": []string{use}}).Want(http.StatusOK)
	if err := s.App.Identity.SuspendPerson(t.Context(), testkit.Command, sue.Email); err != nil {
		t.Fatal(err)
	}
	cutOff(t, unit, fred, fredReads, fredManages, dora, sue, sueReads, sueManages)
	createOrganization(eve, "Evil")
	operator := map[token.OperatorRole]*testkit.Person{}
	for _, role := range []token.OperatorRole{token.RoleOperator, token.RoleAuditor, token.RoleHelpDesk} {
		operator[role], _ = s.SignUpOperator(string(role) + "@example.com")
		if err := s.App.Identity.AddOperator(t.Context(), testkit.Command, operator[role].Email, role); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		who          *testkit.Person
		reads, write *fault.Error // nil: passes
	}{
		"stranger": {s.Stranger(), token.ErrMissing, token.ErrMissing},
		"member":   {bob, nil, transfer.ErrAdminRole},
		"expelled": {fred, token.ErrEnded, token.ErrEnded}, "in again": {fred.Login(), transfer.ErrNotFound, transfer.ErrAdminRole},
		"token of the expelled": {fredReads, token.ErrInvalid, token.ErrInvalid}, "managing": {fredManages, token.ErrInvalid, token.ErrInvalid},
		"demoted": {dora, token.ErrEnded, token.ErrEnded}, "demoted, in again": {dora.Login(), nil, transfer.ErrAdminRole},
		"token of the demoted": {doraReads, nil, token.ErrScope}, "managing for the demoted": {doraManages, nil, transfer.ErrAdminRole},
		"suspended": {sue, token.ErrEnded, token.ErrEnded}, "token of the suspended": {sueReads, token.ErrInvalid, token.ErrInvalid},
		"managing for the suspended": {sueManages, token.ErrInvalid, token.ErrInvalid},
		"token without the scope":    {sends, token.ErrScope, token.ErrScope},
		"operator":                   {operator[token.RoleOperator], transfer.ErrNotFound, transfer.ErrAdminRole},
		"auditor":                    {operator[token.RoleAuditor], transfer.ErrNotFound, transfer.ErrAdminRole},
		"help desk":                  {operator[token.RoleHelpDesk], transfer.ErrNotFound, transfer.ErrAdminRole},
	} {
		t.Log(name)
		if got := c.who.Get(unit); c.reads != nil {
			got.WantError(c.reads)
		} else if string(got.Want(http.StatusOK).Body) != string(rules.Body) {
			t.Errorf("reads %s", got.Body)
		}
		c.who.Put(unit, change).WantError(c.write)
	}
	if got := eve.Get(unit).Want(http.StatusOK); got.Value("retention.transfers") != nil {
		t.Errorf("another organization has the rules %s", got.Body)
	}
	eve.Put(unit, change).Want(http.StatusOK) // those of the own organization
	if got := ann.Get(unit).Want(http.StatusOK); string(got.Body) != string(rules.Body) {
		t.Errorf("the rules are %s", got.Body)
	}

	path, _ := handPlans(bob)
	bob.Delete(path).Want(http.StatusNoContent)
	const console = "/admin/v1/holds"
	kept := operator[token.RoleAuditor].Get(console).Want(http.StatusOK)
	if kept.String("holds.0.kind") != holds.Retention {
		t.Fatalf("the auditor sees %s", kept.Body)
	}
	end, because := console+"/"+kept.String("holds.0.uid")+"/end", object{"reason": "Away with it"}
	operator[token.RoleHelpDesk].Get(console).WantError(token.ErrOperatorRole)
	for _, role := range []token.OperatorRole{token.RoleAuditor, token.RoleHelpDesk} {
		operator[role].Post(end, because).WantError(token.ErrOperatorRole)
	}
	for _, p := range []*testkit.Person{ann, bob, eve} {
		p.Post(end, because).WantError(token.ErrNotOperator)
	}
	keeps(t, s, 1)
	operator[token.RoleOperator].Post(end, because).Want(http.StatusNoContent)
	keeps(t, s, 0)
}

// TestAttackRulesWithoutProof: the session of an administrator that somebody else has found changes no rule, in whichever direction, also
// by leaving the rules out, and no API token does with the password. A change is mailed to the administrators, and the mail undoes it.
func TestAttackRulesWithoutProof(t *testing.T) {
	t.Parallel()
	s, acme, ann, _, _ := newOffice(t)
	unit := s.Transfer + "/adminunit"
	rules := object{"transfers": object{"least": 30}, "audit": object{"most": 60}}
	ruled(t, s, ann, rules)
	carl := s.SignUp("carl@example.com")
	acme.join(ann, carl, identity.RoleOrganizationAdmin)
	managing := program(ann, token.ScopeOrganizationManage)
	s.Clock.Advance(16 * time.Minute)
	ann.Refresh()
	put := func(p *testkit.Person, retention object, proof string) *testkit.Response {
		t.Helper()
		body := object{"availableTtl": []int{1, 7}, "defaultTtl": 7}
		if retention != nil {
			body["retention"] = retention
		}
		if proof != "" {
			body["authKey"] = proof
		}
		return p.Put(unit, body)
	}
	mails := func(address string) int {
		return count(t, s, `SELECT count(*) FROM mails WHERE recipient = $1 AND template = 'organization-changed'`, address)
	}
	before, ofAnn, ofCarl := put(ann, rules, "").Want(http.StatusOK), mails(ann.Email), mails(carl.Email)
	for _, retention := range []object{nil, {}, {"transfers": object{"least": 29}, "audit": object{"most": 60}},
		{"transfers": object{"least": 31}, "audit": object{"most": 60}}, {"transfers": object{"least": 30}},
		{"transfers": object{"least": 30}, "audit": object{"most": 59}}, {"transfers": object{"least": 30}, "audit": object{"most": 61}},
		{"transfers": object{"least": 30}, "audit": object{"most": 60}, "mails": object{"most": 1}}} {
		put(ann, retention, "").WantError(token.ErrProofMissing)
		put(managing, retention, testkit.Password).WantError(token.ErrNoScope)
	}
	put(ann, object{}, "wrong horse battery").WantError(token.ErrProofWrong)
	put(managing, rules, "").Want(http.StatusOK)
	if got := ann.Get(unit).Want(http.StatusOK); string(got.Body) != string(before.Body) || mails(ann.Email) != ofAnn ||
		mails(carl.Email) != ofCarl {
		t.Errorf("the rules are %s", got.Body)
	}
	for i := range ofAnn {
		s.Mail.Wait(t, ann.Email, importantChange, i+1) // several senders work: a later mail may overtake
	}
	put(ann, object{}, testkit.Password).Want(http.StatusOK)
	if mails(ann.Email) != ofAnn+1 || mails(carl.Email) != ofCarl+1 {
		t.Errorf("mailed to ann %d times, to carl %d times", mails(ann.Email)-ofAnn, mails(carl.Email)-ofCarl)
	}
	if n := count(t, s, `SELECT count(*) FROM audit WHERE action = 'adminunit.put' AND organization = $1 AND actor = $2`, acme.uid,
		uidOf(ann)); n != 4 {
		t.Errorf("%d entries of the audit", n)
	}
	key := s.Mail.Wait(t, ann.Email, importantChange, ofAnn+1).Key(t, "/undo/")
	s.Stranger().Post(s.Identity+"/auth/undo/"+key, nil).Want(http.StatusOK)
	if got := carl.Login().Get(unit).Want(http.StatusOK); string(got.Body) != string(before.Body) {
		t.Errorf("after the undo the rules are %s", got.Body)
	}
	cutOff(t, unit, ann)
}

// TestAttackRulesAgainstHold: what an operator holds outlasts the shortest rules: contents, receipts, mails and entries of the audit.
func TestAttackRulesAgainstHold(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, _ := newOffice(t)
	path, _ := handPlans(bob)
	poll.Until(t, "it is mailed", func() bool { return count(t, s, `SELECT count(*) FROM mails WHERE state = 'queued'`) == 0 })
	signed(t, bob, path+"/receipt")
	held, err := holds.Add(t.Context(), s.App.DB, testkit.Command,
		holds.Hold{Kind: holds.Person, Subject: uuid.MustParse(uidOf(bob)), Name: "Case 7", Reason: "Court order"}, s.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	ruled(t, s, ann, object{"transfers": object{"most": 7}, "receipts": object{"most": 1}, "mails": object{"most": 1},
		"audit": object{"most": 30}})
	s.Clock.Advance(40 * day)
	run(t, s, service.ExpireTransfersJob)
	run(t, s, service.RetentionJob)
	bob.Login().Get(path + "/receipt").WantError(transfer.ErrNotFound)
	of := func(source, words string) int {
		return count(t, s, `SELECT count(*) FROM hold_rows WHERE hold = $1 AND source = $2 AND data::text LIKE '%' || $3 || '%'`,
			held, source, words)
	}
	for what, c := range map[string]struct {
		erased        string
		source, words string
	}{
		"contents": {`SELECT count(*) FROM transfer.transfers WHERE subject IS NOT NULL AND limits_organization = $1`,
			"transfer.transfers", "Plans"},
		"receipts": {`SELECT count(*) FROM transfer.receipts WHERE body IS NOT NULL AND kind = 'delivered' AND organization = $1`,
			"transfer.receipts", "delivered"},
		"mails": {`SELECT count(*) FROM mails WHERE organization = $1`, "public.mails", "eve@example.com"},
		"audit": {`SELECT count(*) FROM audit WHERE action = 'transfer.deliver' AND organization = $1`, "public.audit", "transfer.deliver"},
	} {
		if left, kept := count(t, s, c.erased, acme.uid), of(c.source, c.words); left != 0 || kept == 0 {
			t.Errorf("%s: %d are left where they were, %d are held", what, left, kept)
		}
	}
	purged(t, s, 1)
	if err := holds.End(t.Context(), s.App.DB, testkit.Command, id.Organization{}, held, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	purged(t, s, 0)
}

// TestAttackRulesAtOnce: an administrator who wants to hide traces sets the shortest rules. They erase nothing of before for 7 days, and a
// further change begins these anew.
func TestAttackRulesAtOnce(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, _ := newOffice(t)
	path, _ := handPlans(bob)
	poll.Until(t, "it is mailed", func() bool { return count(t, s, `SELECT count(*) FROM mails WHERE state = 'queued'`) == 0 })
	s.Clock.Advance(40 * day)
	ann = ann.Login()
	there := func() (found []int) {
		t.Helper()
		run(t, s, service.RetentionJob)
		for _, sql := range []string{`SELECT count(*) FROM mails WHERE recipient = 'eve@example.com' AND organization = $1`,
			`SELECT count(*) FROM transfer.receipts WHERE body IS NOT NULL AND kind = 'delivered' AND organization = $1`,
			`SELECT count(*) FROM audit WHERE action = 'transfer.deliver' AND organization = $1`} {
			found = append(found, count(t, s, sql, acme.uid))
		}
		return found
	}
	before := there()
	if slices.Contains(before, 0) {
		t.Fatalf("there are %v", before)
	}
	shortest := object{"receipts": object{"most": 1}, "mails": object{"most": 1}, "audit": object{"most": 30}}
	ruled(t, s, ann, shortest)
	same := func(when string) {
		t.Helper()
		if got := there(); !slices.Equal(got, before) {
			t.Errorf("%s there are %v, want %v", when, got, before)
		}
	}
	same("at once")
	s.Clock.Advance(7*day - time.Minute)
	same("before 7 days")
	ann = ann.Login()
	ruled(t, s, ann, object{})
	ruled(t, s, ann, shortest)
	s.Clock.Advance(7*day - time.Minute)
	same("before 7 days after the second change")
	s.Clock.Advance(2 * time.Minute)
	if got := there(); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("after 7 days there are %v", got)
	}
	bob.Login().Get(path + "/receipt").WantError(transfer.ErrNotFound)
}

// TestAttackLeastLowered: an administrator lowers the least of the organization, or deletes the organization, to erase what is there.
// What was there stays 7 days, or until the former least when that is sooner, and a further change does not end this.
func TestAttackLeastLowered(t *testing.T) {
	t.Parallel()
	lower := func(a *leastAttack) { a.rule(object{}) }
	end := func(a *leastAttack) { useToken(a.ann, a.ann.Delete(a.acme.path).Want(http.StatusNoContent)) }
	for name, c := range map[string]struct {
		attack []func(a *leastAttack)
		stays  time.Duration // after the deletion of the transfer
	}{
		"lowered":               {[]func(*leastAttack){lower}, 7 * day},
		"lowered twice":         {[]func(*leastAttack){lower, func(a *leastAttack) { a.rule(object{"mails": object{"most": 9}}) }}, 7 * day},
		"deleted":               {[]func(*leastAttack){end}, 30 * day},
		"lowered, then deleted": {[]func(*leastAttack){lower, end}, 7 * day},
		"lowered after 6 days": {[]func(*leastAttack){lower, func(a *leastAttack) {
			a.s.Clock.Advance(6 * day)
			a.ann, a.bob = a.ann.Login(), a.bob.Login()
			a.rule(object{"mails": object{"most": 9}})
			a.s.Clock.Advance(6 * day)
		}}, day},
		"raised": {[]func(*leastAttack){func(a *leastAttack) {
			a.rule(object{"transfers": object{"least": 60}, "receipts": object{"least": 60}})
		}}, 60 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, acme, ann, bob, _ := newOffice(t)
			a := &leastAttack{t, s, acme, ann, bob}
			a.rule(object{"transfers": object{"least": 30}, "receipts": object{"least": 30}})
			path, uid := handPlans(bob)
			s.Clock.Advance(time.Minute)
			for _, step := range c.attack {
				step(a)
			}
			a.bob = a.bob.Login()
			a.bob.Delete(path).Want(http.StatusNoContent)
			if err := s.App.Transfer.EraseReceipts(t.Context(), testkit.Command, id.Transfer{UUID: uuid.MustParse(uid)}); err != nil {
				t.Fatal(err)
			}
			receipts := func() int {
				return count(t, s, `SELECT count(DISTINCT data ->> 'entry') FROM hold_rows WHERE source = 'transfer.receipts'
					AND data ->> 'kind' = 'delivered' AND data ->> 'body' IS NOT NULL`)
			}
			for _, later := range []time.Duration{0, c.stays - time.Hour} {
				s.Clock.Advance(later)
				a.expire()
				keeps(t, s, 1)
				if receipts() != 1 {
					t.Errorf("%d receipts are kept", receipts())
				}
			}
			s.Clock.Advance(day + 2*time.Hour) // such holds end with a day
			a.expire()
			keeps(t, s, 0)
			if receipts() != 0 {
				t.Errorf("%d receipts are kept in the end", receipts())
			}
		})
	}
}

// leastAttack is an organization whose administrator attacks its least.
type leastAttack struct {
	t        *testing.T
	s        *testkit.Server
	acme     company
	ann, bob *testkit.Person
}

func (a *leastAttack) rule(retention object) { a.t.Helper(); ruled(a.t, a.s, a.ann, retention) }

// expire ends the holds whose time is over.
func (a *leastAttack) expire() {
	a.t.Helper()
	if err := holds.Expire(a.t.Context(), a.s.App.DB, a.s.Clock.Now()); err != nil {
		a.t.Fatal(err)
	}
}
