// What one server that does one operation at a time would answer: a model for each kind of object.

package main

import (
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// revoked is within which time a revocation reaches all replicas (contract 2.4).
const revoked = time.Second

// uploadSize is the size of the file of an upload.
const uploadSize = 16

// model says what a kind of object does. step returns the states in which it may be after an operation, none when the answer is impossible.
// An operation of unknown outcome has no Got: step then returns the state after it has happened. late is how old the state may be that an
// operation has read: what the contract promises, and no more. All else is read from the database, so it is 0.
type model struct {
	begin any
	step  func(state any, o Op) []any
	late  func(o Op) time.Duration
}

var models = map[string]model{
	"upload":     {begin: upload{}, step: uploadStep},
	"transfer":   {begin: transfer{}, step: transferStep},
	"limit":      {begin: limit{}, step: limitStep},
	"otk":        {begin: otk{}, step: otkStep},
	"invitation": {begin: open, step: invitationStep},
	"session": {begin: sessions{}, step: sessionStep, late: func(o Op) time.Duration {
		if o.Do == "use" && o.Got == "200" {
			return revoked
		}
		return 0
	}},
}

func (m model) porcupine() porcupine.Model {
	n := porcupine.NondeterministicModel{
		Init: func() []any { return []any{m.begin} },
		Step: func(state, input, _ any) []any { return m.step(state, input.(Op)) },
		DescribeOperation: func(input, _ any) string {
			o := input.(Op)
			return o.Do + " " + o.Got
		},
	}
	return n.ToModel()
}

// when returns the next state if the answer is possible.
func when(possible bool, next any) []any {
	if !possible {
		return nil
	}
	return []any{next}
}

// phase is where an object is in its life.
type phase int

const (
	open phase = iota
	done       // confirmed, accepted
	ended
)

// upload is a reservation with one file.
type upload struct {
	uid      string
	phase    phase
	held     int64
	transfer string
}

func uploadStep(state any, o Op) []any {
	s := state.(upload)
	confirmable := s.phase == open && s.held == uploadSize
	next := s
	switch o.Do + " " + o.Got {
	case "reserve 201": // the same Idempotency-Key gets the same reservation
		next.uid = o.Text
		return when(s.uid == "" || s.uid == o.Text, next)
	case "reserve ":
		return []any{s} // nobody knows its uid
	case "write 200":
		next.held = o.To
		return when(s.phase == open && s.held == o.From, next)
	case "write ", "write 409012": // any of its bytes may be held
		all := []any{s}
		for next.held < o.To && s.phase == open && s.held == o.From {
			next.held++
			all = append(all, next)
		}
		return all
	case "write 416001":
		return when(s.phase == open && s.held == o.Value && o.From != o.Value, s)
	case "write 409010":
		return when(s.phase == done, s)
	case "held 200":
		return when(s.phase != ended && s.held == o.Value, s)
	case "confirm 200":
		next.phase, next.transfer = done, o.Text
		return when(confirmable, next)
	case "confirm ":
		if confirmable {
			next.phase = done
		}
		return []any{next}
	case "confirm 400011":
		return when(s.phase == open && s.held < uploadSize, s)
	case "confirm 409010":
		next.transfer = o.Text
		return when(s.phase == done && (s.transfer == "" || s.transfer == o.Text), next)
	case "cancel 204":
		next.phase = ended
		return when(s.phase == open, next)
	case "cancel ":
		if s.phase == open {
			next.phase = ended
		}
		return []any{next}
	case "cancel 409010":
		return when(s.phase == done, s)
	}
	return when(strings.HasPrefix(o.Got, "404") && s.phase == ended, s)
}

// transfer is a delivered transfer behind a link.
type transfer struct {
	expires int64 // Unix milliseconds
	deleted int   // by its sender: once revokes it, twice hides it
}

func transferStep(state any, o Op) []any {
	s := state.(transfer)
	next := s
	switch o.Do + " " + o.Got {
	case "confirm 200":
		next.expires = o.Value
		return []any{next}
	case "extend 200":
		next.expires = o.From
		return when(s.deleted == 0, next)
	case "extend ":
		if s.deleted == 0 {
			next.expires = o.From
		}
		return []any{next}
	case "extend 409020":
		return when(s.deleted == 1, s)
	case "revoke 204":
		next.deleted++
		return when(s.deleted < 2, next)
	case "revoke ":
		next.deleted = min(2, s.deleted+1)
		return []any{next}
	case "mine 200": // its state for the sender
		return when(s.deleted == 0 && o.Text != "revoked" && s.expires == o.Value || s.deleted == 1 && o.Text == "revoked", s)
	case "look 200":
		return when(s.deleted == 0 && s.expires == o.Value, s)
	case "download 200":
		return when(s.deleted == 0, s)
	}
	gone := strings.HasPrefix(o.Got, "404")
	if o.Do == "look" || o.Do == "download" {
		return when(o.Got == "" || gone && s.deleted > 0, s)
	}
	return when(gone && s.deleted == 2, s)
}

// limit is a transfer whose downloads are limited.
type limit struct{ downloads, most int64 }

func limitStep(state any, o Op) []any {
	s := state.(limit)
	next := s
	switch o.Do + " " + o.Got {
	case "limit 200", "limit ":
		next.most = o.From
		return []any{next}
	case "look 200":
		return when(s.most == o.Value, s)
	case "download 200":
		next.downloads++
		return when(s.downloads < s.most, next)
	case "download ":
		if s.downloads < s.most {
			next.downloads++
		}
		return []any{next}
	case "download 403086":
		return when(s.downloads >= s.most, s)
	}
	return nil
}

// otk is a one-time key of a download of a transfer.
type otk struct {
	used    bool
	deleted int // the transfer, as in transfer
}

func otkStep(state any, o Op) []any {
	s := state.(otk)
	next := s
	gone := strings.HasPrefix(o.Got, "404")
	switch o.Do + " " + o.Got {
	case "start 200":
		next.used = true
		return when(!s.used && s.deleted == 0, next)
	case "start ":
		next.used = s.used || s.deleted == 0
		return []any{next}
	case "revoke 204":
		next.deleted++
		return when(s.deleted < 2, next)
	case "revoke ":
		next.deleted = min(2, s.deleted+1)
		return []any{next}
	}
	return when(gone && (o.Do == "start" && (s.used || s.deleted > 0) || o.Do == "revoke" && s.deleted == 2), s)
}

func invitationStep(state any, o Op) []any {
	s := state.(phase)
	gone := strings.HasPrefix(o.Got, "404")
	switch {
	case o.Do == "accept" && o.Got == "204":
		return when(s == open, done)
	case o.Do == "accept" && o.Got == "" && s == open:
		return []any{done}
	case o.Do == "accept" && (o.Got == "403022" || o.Got == "401904"): // a member; the token is older than the membership
		return when(s == done, s)
	case o.Do == "revoke" && o.Got == "204":
		return when(s == open, ended)
	case o.Do == "revoke" && o.Got == "" && s == open:
		return []any{ended}
	case o.Do == "read" && o.Got == "200":
		return when(s == open, s)
	case o.Do == "member" && o.Got == "200":
		return when(s == done, s)
	case o.Do == "member" && gone:
		return when(s != done, s)
	}
	return when(o.Got == "" || gone && s != open, s)
}

// sessions says which of a person's two sessions have ended.
type sessions [2]bool

func sessionStep(state any, o Op) []any {
	s := state.(sessions)
	next := s
	switch {
	case o.Got == "401904":
		return when(s[o.From], s)
	case o.Got != "" && s[o.From]:
		return nil
	case (o.Do == "use" || o.Do == "refresh") && o.Got == "200":
		return []any{s}
	case s[o.From]: // its outcome is unknown
		return []any{s}
	case o.Do == "logout" && (o.Got == "204" || o.Got == ""):
		next[o.From] = true
		return []any{next}
	case o.Do == "everywhere" && (o.Got == "204" || o.Got == ""):
		return []any{sessions{true, true}}
	}
	return nil
}
