// What happened to a transfer, for its sender: changes from the audit, and uses by recipients.

package service

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

const (
	deliveryDetail = "delivery" // names the recipient of a transfer in an audit entry
	reasonDetail   = "reason"   // says in an audit entry why a transfer was revoked
)

// activityKinds are the kinds of changes by the actions of the audit log.
var activityKinds = map[string]string{
	"transfer.deliver": "delivered", "transfer.update": "changed", "transfer.recipients.add": "recipientsAdded",
	"transfer.recipients.remove": "recipientRemoved",
	"transfer.resend":            "resent", "transfer.remind": "reminded", "transfer.extension.ask": "extensionAsked",
	"transfer.forward": "forwarded",
	"transfer.revoke":  "revoked",
}

// Activity is something that happened to a transfer, as its sender sees it.
type Activity struct {
	Kind      string     // opened, downloaded, or a value of activityKinds
	By        audit.Kind // of a change
	At        time.Time
	Recipient *transfer.Delivery // nil: nobody or unknown; only UID when the recipient was removed
	Addresses []netip.Addr
	Details   map[string]string // of a change
	Use       *postgres.Use     // of downloads
	Objects   []transfer.ObjectName

	key string // position among activities of the same time
}

// ActivityQuery selects a page of activities.
type ActivityQuery struct {
	After string // next of the previous page; empty: from the newest
	Limit int    // 1 to transfer.MaxPage
}

// activityPosition is a place in the list of activities, newest first. At the same time, uses come before changes.
type activityPosition struct {
	at      time.Time
	changes bool // all uses of this time were listed
	key     string
}

func (p activityPosition) of(t id.Transfer) string {
	return id.Position(t, fmt.Sprintf("%d %t %s", p.at.UnixMicro(), p.changes, p.key))
}

func parseActivityPosition(t id.Transfer, after string) (p activityPosition, ok bool) {
	uid, key, ok := id.ParsePosition[id.Transfer](after)
	parts := strings.SplitN(key, " ", 3)
	if !ok || uid != t || len(parts) != 3 {
		return p, false
	}
	micro, err := strconv.ParseInt(parts[0], 10, 64)
	p = activityPosition{at: time.UnixMicro(micro).UTC(), changes: parts[1] == "true", key: parts[2]}
	return p, err == nil && p.at.Year() > 1970 && p.at.Year() < 10_000
}

// uses returns the position in the list of uses.
func (p activityPosition) uses() postgres.UsePosition {
	if p.changes {
		return postgres.UsePosition{At: p.at} // before the first key
	}
	return postgres.UsePosition{At: p.at, Key: p.key}
}

// entry returns a bound of the audit's ids: of the position's time, entries with lower ids follow.
func (p activityPosition) entry() int64 {
	if !p.changes {
		return math.MaxInt64
	}
	n, _ := strconv.ParseInt(p.key, 10, 64)
	return n
}

// Activity returns what happened to a transfer of the caller's, newest first, and next, which is empty on the last page. It
// goes back as far as the audit log.
// Errors: transfer.ErrNotFound, transfer.ErrSenderOnly, fault.ErrInvalid.
func (s *Service) Activity(ctx context.Context, caller token.Caller, uid id.Transfer, q ActivityQuery) ([]Activity, string, error) {
	before := activityPosition{at: s.now().Add(day)}
	if q.After != "" {
		var ok bool
		if before, ok = parseActivityPosition(uid, q.After); !ok {
			return nil, "", fault.ErrInvalid.With("after: " + id.NotNext)
		}
	}
	t, err := s.store.TransferOf(ctx, uid, caller.Person, s.scope(caller))
	if err != nil {
		return nil, "", err
	}
	if !t.AsSender {
		return nil, "", transfer.ErrSenderOnly
	}
	since := s.now().Add(-s.auditAge)
	uses, err := s.store.Uses(ctx, uid, before.uses(), since, q.Limit+1)
	if err != nil {
		return nil, "", err
	}
	if t.CreatedAt.After(since) {
		since = t.CreatedAt
	}
	changes, err := s.store.AuditAbout(ctx, audit.About{
		Object: uid.String(), Person: caller.Person, Actions: auditedActions, Since: since, Before: before.at, BeforeID: before.entry(),
		Limit: q.Limit + 1,
	})
	if err != nil {
		return nil, "", err
	}
	list, next := mergeActivities(uid, uses, changes, q.Limit)
	return list, next, s.nameActivities(ctx, uid, list)
}

var auditedActions = func() (actions []string) {
	for action := range activityKinds {
		actions = append(actions, action)
	}
	return actions
}()

// mergeActivities merges two lists, newest first, into a page.
func mergeActivities(uid id.Transfer, uses []postgres.Use, changes []audit.Record, limit int) (list []Activity, next string) {
	for _, u := range uses {
		a := Activity{Kind: "downloaded", At: u.At.UTC(), Recipient: &transfer.Delivery{UID: u.Delivery}, Addresses: u.Addresses, Use: &u,
			key: u.Key}
		if u.Opened {
			a.Kind, a.Use = "opened", nil
		}
		list = append(list, a)
	}
	for _, r := range changes {
		a := Activity{Kind: activityKinds[r.Action], By: r.Kind, At: r.At, Details: r.Details, key: strconv.FormatInt(r.ID, 10)}
		if r.Client.Address.IsValid() && r.Kind == audit.Person { // where operators and administrators are is their own
			a.Addresses = []netip.Addr{r.Client.Address}
		}
		if d, err := id.Parse[id.Delivery](r.Details[deliveryDetail]); err == nil {
			a.Recipient = &transfer.Delivery{UID: d}
		}
		list = append(list, a)
	}
	slices.SortStableFunc(list, func(a, b Activity) int { return cmp.Compare(b.At.UnixMicro(), a.At.UnixMicro()) })
	if len(list) <= limit {
		return list, ""
	}
	list = list[:limit]
	last := list[limit-1]
	return list, activityPosition{at: last.At, changes: last.Kind != "opened" && last.Kind != "downloaded", key: last.key}.of(uid)
}

// nameActivities adds names of recipients and objects.
func (s *Service) nameActivities(ctx context.Context, uid id.Transfer, list []Activity) error {
	deliveries, err := s.store.DeliveriesOfTransfers(ctx, []id.Transfer{uid})
	if err != nil {
		return err
	}
	known := map[id.Delivery]transfer.Delivery{}
	for _, d := range deliveries[uid] {
		known[d.UID] = d
	}
	var uids []id.Object
	for _, a := range list {
		if a.Use != nil {
			uids = append(uids, a.Use.Objects...)
		}
	}
	names, err := s.store.ObjectNames(ctx, uids)
	if err != nil {
		return err
	}
	for i := range list {
		a := &list[i]
		if a.Recipient != nil {
			if d, ok := known[a.Recipient.UID]; ok {
				a.Recipient = &d
			}
		}
		if a.Use == nil {
			continue
		}
		for _, o := range a.Use.Objects {
			a.Objects = append(a.Objects, transfer.ObjectName{UID: o, Name: names[o]})
		}
	}
	return nil
}
