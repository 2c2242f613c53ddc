package service_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/service"
)

func TestBootstrap(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for _, sql := range []string{`DELETE FROM settings`, `DELETE FROM identity.hosts`, `DELETE FROM identity.organizations`} {
		_, err := k.db.Pool.Exec(t.Context(), sql)
		must(t, err)
	}
	if won := race(t, 8, func() error { return k.Bootstrap(t.Context()) }); won != 8 {
		t.Errorf("%d of 8 concurrent starts succeeded", won)
	}
	host, err := service.ResolveHost(t.Context(), k.store, "localhost")
	if err != nil || !host.Free || !host.Own || host.Name != "localhost" {
		t.Errorf("localhost is %+v, %v", host, err)
	}
	k.host = host
	stray, err := service.ResolveHost(t.Context(), k.store, "elsewhere.example.com")
	if err != nil || stray.Organization != k.host.Organization || stray.Own || stray.Name != "localhost" {
		t.Errorf("an unknown host is %+v, %v", stray, err)
	}
}

// TestBootstrapAgain: a start with nothing to do takes no lock.
func TestBootstrapAgain(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	must(t, k.store.InTx(t.Context(), func(tx *postgres.Store) error {
		must(t, tx.LockBootstrap(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return k.Bootstrap(ctx)
	}))
}

func TestPublicHostChanges(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	u, err := url.Parse("http://consign.example.com:8080")
	must(t, err)
	other := newKitOn(t, k, func(s *service.Settings) { s.PublicURL = u })
	now, err := service.ResolveHost(t.Context(), other.store, "localhost")
	if err != nil || now.Name != "consign.example.com" || !now.Own || !now.Free {
		t.Errorf("the old host is %+v, %v", now, err)
	}
}
