// Package notice tells people what has changed: mails about an account or an organization, each with a link that undoes the change
// where that is possible (contract 3.23, 3.29), and events. Mails and events are queued in the transaction of the change.
package notice

import (
	"net/url"
	"time"

	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
)

// Options are the dependencies of Notices. All are required.
type Options struct {
	Store     *postgres.Store
	Mailer    *mail.Mailer
	Jobs      *jobs.Runner
	Hosts     *hosts.Directory // builds links
	PublicURL *url.URL
	Undo      time.Duration // how long a mailed link undoes a change
	Now       func() time.Time
}

// Notices tells people what has changed. It is safe for concurrent use.
type Notices struct {
	store      *postgres.Store
	mailer     *mail.Mailer
	jobs       *jobs.Runner
	hosts      *hosts.Directory
	publicHost string
	undo       time.Duration
	now        func() time.Time
}

// New returns Notices. It registers their jobs, so call it before the runner runs.
func New(o Options) *Notices {
	ns := &Notices{
		store: o.Store, mailer: o.Mailer, jobs: o.Jobs, hosts: o.Hosts, publicHost: o.PublicURL.Hostname(), undo: o.Undo, now: o.Now,
	}
	jobs.Register(ns.jobs, ns.workAnnounce)
	jobs.Register(ns.jobs, ns.workFarewell)
	return ns
}

// Link returns an absolute URL on a person's home host, or on PUBLIC_URL's host if there is none.
func (ns *Notices) Link(host, path string) string {
	if host == "" {
		host = ns.publicHost
	}
	return ns.hosts.URL(host, path)
}
