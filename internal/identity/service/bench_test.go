package service_test

import (
	"testing"

	"github.com/consign-dev/consign/internal/token"
)

// The hot paths below HTTP: one round trip and one signature each.

func BenchmarkAccess(b *testing.B) {
	k, ann := benchKit(b)
	for b.Loop() {
		if _, err := k.IssueAccess(b.Context(), ann); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpgrade(b *testing.B) {
	k, ann := benchKit(b)
	for b.Loop() {
		raw, err := k.UpgradeToken(b.Context(), ann)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		ann = k.caller(raw)
		b.StartTimer()
	}
}

func BenchmarkProfile(b *testing.B) {
	k, ann := benchKit(b)
	for b.Loop() {
		if _, err := k.Profile(b.Context(), ann); err != nil {
			b.Fatal(err)
		}
	}
}

func benchKit(b *testing.B) (*kit, token.Caller) {
	b.Helper()
	k := newKit(b)
	return k, k.caller(k.person("ann@example.com"))
}
