package transfer

import (
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/fault"
)

// Kept says in days how long a kind of things stays; 0: no rule.
type Kept struct {
	Least int32 `json:"least,omitempty"`
	Most  int32 `json:"most,omitempty"`
}

// Retention holds an organization's rules about how long things stay (contract 4.32).
type Retention struct {
	Transfers Kept `json:"transfers,omitzero"` // content of delivered ones, from the delivery
	Receipts  Kept `json:"receipts,omitzero"`  // from the delivery
	Mails     Kept `json:"mails,omitzero"`     // rows of mails about transfers, from the last attempt
	Audit     Kept `json:"audit,omitzero"`     // entries of the organization
}

const (
	maxKept      = 36_500 // days
	minKeptAudit = 30     // days: nobody hides traces quickly
)

// RetentionPause is for how long what was there before a change of the rules stays: the change can be undone meanwhile.
const RetentionPause = 7 * 24 * time.Hour

// check adds what is wrong with the rules. ttls are days that senders choose from.
func (r Retention) check(problems *fault.Problems, ttls []int32) {
	for _, k := range []struct {
		name  string
		kept  Kept
		least int32 // of most
		only  bool  // nobody in the organization can delete them, so a least would be none
	}{
		{"transfers", r.Transfers, 1, false}, {"receipts", r.Receipts, 1, false},
		{"mails", r.Mails, 1, true}, {"audit", r.Audit, minKeptAudit, true},
	} {
		name := "retention." + k.name
		switch {
		case k.only && k.kept.Least != 0:
			problems.Add(name+".least", "there is only a most: nobody in the organization can delete them")
		case k.kept.Least < 0 || k.kept.Least > maxKept:
			problems.Add(name+".least", fmt.Sprintf("must be days from 1 to %d", maxKept))
		case k.kept.Most != 0 && (k.kept.Most < k.least || k.kept.Most > maxKept):
			problems.Add(name+".most", fmt.Sprintf("must be days from %d to %d", k.least, maxKept))
		case k.kept.Most != 0 && k.kept.Most < k.kept.Least:
			problems.Add(name+".most", "must not be below least")
		}
	}
	for _, days := range ttls {
		if most := r.Transfers.Most; most > 0 && days > most {
			problems.Add("availableTtl", fmt.Sprintf("must not be above retention.transfers.most, %d", most))
			return
		}
	}
}
