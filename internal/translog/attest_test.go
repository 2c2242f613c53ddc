package translog_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/testkit/attester"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/translog"
)

// parse returns a witness as the log has it.
func parse(t *testing.T, w *attester.Witness) *translog.Witness {
	t.Helper()
	parsed, err := translog.ParseWitness(w.Setting())
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// watched makes a witness of the world's log, and returns the option of the servers that have it.
func (w *world) watched(t *testing.T) func(*translog.Options) {
	t.Helper()
	l := w.replica()
	one := attester.NewWitness(t, "witness.example/one", func() *translog.Log { return l })
	return func(o *translog.Options) { o.Witnesses = []*translog.Witness{parse(t, one)} } // what a server knows of it is its own
}

// TestWitnessesCosign: witnesses follow the log over a rotation of its key and a new log. One that is down holds nothing up, and what it
// missed it gets from any replica.
func TestWitnessesCosign(t *testing.T) {
	t.Parallel()
	world := newWorld(t)
	var l *translog.Log
	log := func() *translog.Log { return l }
	one, two := attester.NewWitness(t, "witness.example/one", log), attester.NewWitness(t, "witness.example/two", log)
	replica := func() *translog.Log {
		return world.replica(func(o *translog.Options) { o.Witnesses = []*translog.Witness{parse(t, one), parse(t, two)} })
	}
	l = replica()
	trusting := func(entry []byte, quorum int) error {
		p, err := l.Prove(t.Context(), entry)
		if err != nil {
			t.Fatal(err)
		}
		trusted := world.policy(l)
		for _, w := range []*attester.Witness{one, two} {
			c, err := proof.NewCosigner(w.Key())
			if err != nil {
				t.Fatal(err)
			}
			trusted.Witnesses = append(trusted.Witnesses, c)
		}
		trusted.Quorum = quorum
		_, err = proof.Verify(p, entry, trusted)
		return err
	}
	cosign := func() {
		t.Helper()
		if err := l.Cosign(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first := world.add(3)[0]
	world.sequence(l)
	if err := trusting(first, 1); err == nil {
		t.Error("cosigned before anybody was asked")
	}
	cosign()
	if err := trusting(first, 2); err != nil {
		t.Error(err)
	}
	if _, err := l.Rotate(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	two.Down.Store(true)
	second := world.add(300)[7]
	world.sequence(l)
	if err := l.Cosign(t.Context()); err == nil {
		t.Error("nothing is said about a witness that is down")
	}
	if err := trusting(second, 1); err != nil {
		t.Error(err)
	}
	two.Down.Store(false)
	cosign()
	if err := trusting(second, 2); err != nil {
		t.Errorf("after the witness is back: %v", err)
	}
	l = replica() // knows nothing of what the witnesses have seen
	third := world.add(1)[0]
	world.exec(`UPDATE log.logs SET leader = NULL`)
	world.sequence(l)
	cosign()
	if err := trusting(third, 2); err != nil {
		t.Errorf("by another replica: %v", err)
	}
	if _, err := l.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	fourth := world.add(1)[0]
	world.sequence(l)
	cosign()
	for _, entry := range [][]byte{first, third, fourth} {
		if err := trusting(entry, 2); err != nil {
			t.Errorf("after a restart: %v", err)
		}
	}
}

// TestWitnessStopsAFork: the database and the storage are restored from the same backup, so that the mark detects nothing. A witness does,
// and the log refuses to sign more.
func TestWitnessStopsAFork(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]int{"shorter": 1, "longer": 9} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := newWorld(t)
			watched := world.watched(t)
			l := world.replica(watched)
			world.add(3)
			world.sequence(l)
			world.backUp()
			world.add(4)
			world.sequence(l)
			if err := l.Cosign(t.Context()); err != nil {
				t.Fatal(err)
			}
			world.restore()
			world.marks = world.store()
			l = world.successor(watched)
			world.add(more)
			world.sequence(l)
			if err := l.Cosign(t.Context()); !errors.Is(err, translog.ErrContradicted) {
				t.Fatalf("the witness says %v", err)
			}
			lost := world.add(1)[0]
			if _, err := l.Sequence(t.Context()); !errors.Is(err, translog.ErrContradicted) || !errors.Is(l.Trouble(), translog.ErrContradicted) {
				t.Fatalf("a contradicted log: %v", err)
			}
			if _, err := l.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			world.sequence(l)
			world.prove(l, lost)
			if err := l.Cosign(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWitnessIsAhead: a witness that has seen a newer checkpoint of another leader contradicts nothing, unless the log is not that long.
func TestWitnessIsAhead(t *testing.T) {
	t.Parallel()
	world := newWorld(t)
	watched := world.watched(t)
	l := world.replica(watched)
	for range 2 {
		world.add(3)
		world.sequence(l)
		if err := l.Cosign(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	world.exec("DELETE FROM log.checkpoints WHERE size = 6") // as if it were read before the other leader published
	world.exec("UPDATE log.checkpoints SET cosignatures = NULL")
	if err := world.replica(watched).Cosign(t.Context()); err != nil {
		t.Errorf("the log has grown: %v", err)
	}
	world.exec("UPDATE log.logs SET size = 5, published = 5")
	if err := world.replica(watched).Cosign(t.Context()); !errors.Is(err, translog.ErrContradicted) {
		t.Errorf("the log has not grown: %v", err)
	}
}

// TestParseWitness: wrong settings are refused.
func TestParseWitness(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "key", "key https://w.example", "w.example+00000000+AAAA https://w.example/", "https://w.example"} {
		if _, err := translog.ParseWitness(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestAttestationsWhileTheLogRuns: a running log has its checkpoints cosigned and stamped by itself.
func TestAttestationsWhileTheLogRuns(t *testing.T) {
	t.Parallel()
	world := newWorld(t)
	a := attester.NewAuthority(t)
	var l *translog.Log
	w := attester.NewWitness(t, "witness.example/one", func() *translog.Log { return l })
	l = world.replica(func(o *translog.Options) {
		o.Witnesses, o.TSA, o.StampEvery = []*translog.Witness{parse(t, w)}, a.URL, time.Second
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	entry := world.add(1)[0]
	l.Wake()
	poll.Until(t, "the entry is cosigned and stamped", func() bool {
		p, err := l.Prove(t.Context(), entry)
		return err == nil && p.Extra != nil && strings.Contains(string(p.Checkpoint), "witness.example/one")
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAbsentWitnessIsReported: a running log says once in a minute that a witness does not answer, and nothing when it stops.
func TestAbsentWitnessIsReported(t *testing.T) {
	t.Parallel()
	world := newWorld(t)
	var said output.Buffer
	var l *translog.Log
	w := attester.NewWitness(t, "witness.example/one", func() *translog.Log { return l })
	l = world.replica(func(o *translog.Options) {
		o.Witnesses, o.Log = []*translog.Witness{parse(t, w)}, slog.New(slog.NewTextHandler(&said, nil))
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	cosigned := func() {
		entry := world.add(1)[0]
		l.Wake()
		poll.Until(t, "an entry is cosigned", func() bool {
			p, err := l.Prove(t.Context(), entry)
			return err == nil && strings.Contains(string(p.Checkpoint), "witness.example/one")
		})
	}
	const complaint = "checkpoints of the transparency log are not cosigned"
	cosigned()
	if strings.Contains(said.String(), complaint) {
		t.Errorf("a witness that cosigns is reported: %s", said.String())
	}
	for range 2 {
		refused := w.Refused.Load()
		w.Down.Store(true)
		world.add(1)
		l.Wake()
		poll.Until(t, "the witness is asked", func() bool { return w.Refused.Load() > refused })
		w.Down.Store(false)
		cosigned()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := strings.Count(said.String(), complaint); n != 1 {
		t.Errorf("the witness that was away twice is reported %d times: %s", n, said.String())
	}
}
