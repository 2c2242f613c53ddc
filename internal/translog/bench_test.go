package translog_test

import "testing"

// benchEntries is the size of the log that the benchmarks measure.
const benchEntries = 1_000_000

// BenchmarkLog measures a proof, a checkpoint and the growth of a log of a million entries (docs/use/receipts.md).
func BenchmarkLog(b *testing.B) {
	w := newWorld(b)
	l := w.replica()
	for n := 0; n < benchEntries; n += 50_000 {
		w.add(50_000)
		w.sequence(l)
	}
	entries := w.add(1000)
	w.sequence(l)
	w.add(1000)
	w.sequence(l)
	b.Run("proof", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := l.Prove(b.Context(), entries[i%len(entries)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("checkpoint", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.Checkpoint(b.Context(), 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("batch of one", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			w.add(1)
			b.StartTimer()
			if _, err := l.Sequence(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("size", func(b *testing.B) {
		for b.Loop() {
			w.exec("VACUUM FULL log.entries, log.tiles, log.checkpoints")
		}
		b.ReportMetric(w.number(`SELECT (pg_total_relation_size('log.entries') + pg_total_relation_size('log.tiles'))::float8 / (SELECT count(*) FROM log.entries)`), "bytes/entry")
		b.ReportMetric(w.number(`SELECT pg_total_relation_size('log.checkpoints')::float8 / (SELECT count(*) FROM log.checkpoints)`),
			"bytes/checkpoint")
	})
}
