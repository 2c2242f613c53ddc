package handler_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
)

// BenchmarkConfirm measures a confirm of one file over HTTP, which writes the receipt.
func BenchmarkConfirm(b *testing.B) {
	s := testkit.New(b, testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "200,100/1s"), testkit.Env("CONSIGN_RATE_LIMIT", "off"))
	ann := s.SignUp("ann@example.com")
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		made := ann.Post(s.Transfer+"/reservations", map[string]any{}).Want(http.StatusCreated)
		mine := draft{Person: ann, path: s.Transfer + "/reservations/" + made.String("uid")}
		mine.send("one", []byte("hello"))
		b.StartTimer()
		start := time.Now()
		mine.confirm()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)/10].Microseconds())/1000, "p10-ms")
}
