//go:build growth

// Measures the requests of people at a database of one size.

package main

import (
	"context"
	"crypto/md5"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	warmUps = 20 // Postgres makes generic plans from the sixth execution of a connection
	round   = 10 // samples of one size before it is the turn of the next
)

// result is what was measured at one size.
type result struct {
	size  size
	rows  []row
	start time.Duration
	rss   int64 // bytes
	fsck  checked
	due   expiry
	jobs  []job
	table []table
}

// row is one request.
type row struct {
	name  string
	heavy bool
	times []time.Duration
}

// measure measures requests at all sizes in turn, so that load of others on the machine falls on all of them, and then the jobs of
// each. It writes each table once it is measured, and returns an error when a limit is not kept.
func (g *growth) measure(ctx context.Context, sizes []size) error {
	results, servers := make([]result, len(sizes)), make([]*server, len(sizes))
	for i, s := range sizes {
		srv, err := g.newServer(ctx, s)
		if err != nil {
			return err
		}
		servers[i], results[i].size = srv, s
		if g.fsck {
			if err := srv.makeFiles(ctx, s.url); err != nil {
				return err
			}
		}
		if err := srv.start(ctx); err != nil {
			return err
		}
		defer srv.stop()
		results[i].start = srv.took
	}
	for _, srv := range servers {
		g.prefer(srv, firstPriority)
	}
	err := g.requests(ctx, servers, results)
	for _, srv := range servers {
		g.prefer(srv, usualPriority)
	}
	if err != nil {
		return err
	}
	missed, err := reportRequests(os.Stdout, results)
	if err != nil {
		return err
	}
	for i, srv := range servers {
		if err := g.jobs(ctx, srv, &results[i]); err != nil {
			return err
		}
		n, err := reportJobs(os.Stdout, results[i])
		if err != nil {
			return err
		}
		missed += n
	}
	if missed > 0 {
		return fmt.Errorf("limits that were not kept: %d", missed)
	}
	return nil
}

// requests samples each request at each size, in rounds.
func (g *growth) requests(ctx context.Context, servers []*server, results []result) error {
	lists := make([][]request, len(servers))
	for i, srv := range servers {
		lists[i] = srv.requests(ctx)
	}
	for n, first := range lists[0] {
		for i := range servers {
			if _, err := servers[i].sample(ctx, lists[i][n], warmUps); err != nil {
				return err
			}
			results[i].rows = append(results[i].rows, row{name: first.name, heavy: first.person == heavy})
		}
		for done := 0; done < g.samples; done += round {
			for i := range servers {
				times, err := servers[i].sample(ctx, lists[i][n], round)
				if err != nil {
					return err
				}
				results[i].rows[n].times = append(results[i].rows[n].times, times...)
			}
		}
	}
	return nil
}

// jobs measures what a server does beside requests.
func (g *growth) jobs(ctx context.Context, srv *server, r *result) (err error) {
	if r.rss, err = srv.resident(); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, r.size.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if r.table, err = tables(ctx, conn); err != nil {
		return err
	}
	if g.fsck {
		if r.fsck, err = srv.check(ctx); err != nil {
			return err
		}
	}
	if r.due, err = g.expire(ctx, conn, srv); err != nil {
		return err
	}
	r.jobs, err = periodic(ctx, conn)
	return err
}

// request is one that is measured.
type request struct {
	name, method, path string
	person             int // 0: a stranger
	body               any
}

const (
	lists          = "/transfer/v2/transfers"
	asked          = "/transfer/v2/requests"
	membersRequest = "members of an organization"
	oftenRequest   = "search of a word in every 50th transfer" // which has more hits in a larger database: it has no limit but that of all
)

func (s *server) requests(ctx context.Context) []request {
	list := []request{
		{name: "profile", method: "GET", path: "/id/v3/profile", person: ordinary},
		{name: "usage", method: "GET", path: "/transfer/v2/usage", person: ordinary},
		{name: "reserve as a sender", method: "POST", path: "/transfer/v2/reservations", person: ordinary, body: map[string]any{"type": "drop"}},
		{name: "mailbox by link", method: "GET", path: "/transfer/v2/public/mailbox/box7"},
		{name: "mailbox by uid", method: "GET", path: "/transfer/v2/public/mailbox/" + uid("person", ordinary)},
		{name: "reserve at a mailbox", method: "POST", path: "/transfer/v2/public/mailbox/box7", body: map[string]any{}},
		{name: "requests", method: "GET", path: asked, person: ordinary},
		{name: "requests, heavy", method: "GET", path: asked, person: heavy},
		{name: "request of 50 people and 20 items", method: "GET", path: asked + "/" + uid("request", 0), person: ordinary},
		{name: membersRequest, method: "GET", path: "/id/v3/organizations/" + uid("organization", 1) + "/members", person: administrator},
	}
	for _, person := range []int{ordinary, heavy} {
		who := map[int]string{ordinary: "", heavy: ", heavy"}[person]
		list = append(list,
			request{name: "inbox" + who, method: "GET", path: lists + "?location=received", person: person},
			request{name: "both, deep cursor" + who, method: "GET", path: s.deep(ctx, person), person: person},
			request{name: "search of a rare word" + who, method: "GET", path: lists + "?search=lindwurm", person: person},
			request{name: oftenRequest + who, method: "GET", path: lists + "?search=quittungsbeleg", person: person},
			request{name: "search of a frequent word" + who, method: "GET", path: lists + "?search=documents", person: person},
			request{name: "search of nothing" + who, method: "GET", path: lists + "?search=zebrafink", person: person},
		)
	}
	return list
}

// uid is the function uid of fill.sql.
func uid(kind string, n int) string {
	sum := fmt.Sprintf("%x", md5.Sum(fmt.Appendf(nil, "%s%d", kind, n)))
	hex := fmt.Sprintf("%012x7%s", 1_000_000_000_000+n, sum[13:])
	return hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:]
}

// deep returns the path of a page of 50 behind up to 20 pages of 200.
func (s *server) deep(ctx context.Context, person int) string {
	path := lists + "?limit=200"
	for range 20 {
		var page struct{ Next string }
		if s.call(ctx, request{method: "GET", path: path}, s.access[person], &page) != nil || page.Next == "" {
			break
		}
		path = lists + "?limit=200&after=" + page.Next
	}
	return strings.Replace(path, "limit=200", "limit=50", 1)
}

func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	times = slices.Sorted(slices.Values(times))
	return times[min(int(float64(len(times))*q), len(times)-1)]
}
