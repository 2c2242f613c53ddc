package translog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit/attester"
	"github.com/consign-dev/consign/internal/translog"
)

// TestAttesters: for how long the log has waited for each witness and for time stamps, and what each of them answers. One that is lost is
// told from those that work; a log at rest waits for nobody.
func TestAttesters(t *testing.T) {
	t.Parallel()
	world := newWorld(t)
	authority, now := attester.NewAuthority(t), time.Now()
	var l *translog.Log
	log := func() *translog.Log { return l }
	one, two := attester.NewWitness(t, "witness.example/one", log), attester.NewWitness(t, "witness.example/one-more", log)
	l = world.replica(func(o *translog.Options) {
		o.Witnesses, o.TSA, o.Now = []*translog.Witness{parse(t, one), parse(t, two)}, authority.URL, func() time.Time { return now }
	})
	attest := func() { _, _ = l.Cosign(t.Context()), l.Stamp(t.Context()) } // failures show below
	want := func(when string, waiting [3]time.Duration, troubles [3]string) {
		t.Helper()
		got, err := l.TryAttesters(t.Context())
		if err != nil || len(got) != 3 {
			t.Fatalf("%s: %v %v", when, got, err)
		}
		for i, name := range []string{"witness.example/one", "witness.example/one-more", "time stamp service"} {
			trouble := ""
			if got[i].Trouble != nil {
				trouble = got[i].Trouble.Error()
			}
			if got[i].Name != name || got[i].Waiting.Round(time.Second) != waiting[i] || (trouble == "") != (troubles[i] == "") ||
				!strings.Contains(trouble, troubles[i]) || got[i].Late() != (waiting[i] > translog.LateAttestation) {
				t.Errorf("%s: want %s waiting %s trouble %q, got %+v", when, name, waiting[i], troubles[i], got[i])
			}
		}
	}
	later := func(by time.Duration) { now = now.Add(by) }

	want("no log", [3]time.Duration{}, [3]string{})
	one.Down.Store(true)
	want("no log, and a witness away", [3]time.Duration{}, [3]string{"answers 503"})
	one.Down.Store(false)
	world.add(2)
	world.sequence(l)
	later(time.Minute)
	want("before the first attestation", [3]time.Duration{time.Minute, time.Minute, time.Minute}, [3]string{})
	attest()
	want("all attest", [3]time.Duration{}, [3]string{})
	later(30 * 24 * time.Hour)
	want("a month without an entry", [3]time.Duration{}, [3]string{})

	two.Down.Store(true)
	authority.Broken.Store(true)
	for range 3 {
		world.add(1)
		world.sequence(l)
		attest()
		later(5 * time.Minute)
	}
	want("a witness and the time stamp service away", [3]time.Duration{0, 15 * time.Minute, 15 * time.Minute},
		[3]string{"", "answers 503", "answers 500"})
	world.exec(`UPDATE log.checkpoints SET size = size + 10000 WHERE size > 2`)
	world.exec(`INSERT INTO log.checkpoints (log, size, note, signed_at, cosignatures)
		SELECT log, 100 + n, 'x', signed_at - interval '1 hour', cosignatures FROM log.checkpoints, generate_series(1, 1100) n
		WHERE size = (SELECT max(size) FROM log.checkpoints)`)
	if got, err := l.Attesters(t.Context()); err != nil || got[0].Waiting != 0 || !got[1].Late() || !got[2].Late() {
		t.Errorf("after more cosignatures than are looked through: %+v %v", got, err)
	}
	world.exec(`DELETE FROM log.checkpoints WHERE note = 'x'`)
	world.exec(`UPDATE log.checkpoints SET size = size - 10000 WHERE size > 10000`)
	two.Down.Store(false)
	want("both answer again, the service does not stamp", [3]time.Duration{0, 15 * time.Minute, 15 * time.Minute},
		[3]string{"", "", "answers 500"})
	authority.Broken.Store(false)
	attest()
	want("all are back", [3]time.Duration{}, [3]string{})
}
