package redis_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/ratelimit/redis"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "host:6379", "http://:hidden@host", "redis://:hidden@host:6379/x", "redis://:hidden%zz@host",
		"redis://:hid/den@host", "unix://", "redis://:hidden@host?tls=off"} {
		s, err := redis.New(t.Context(), bad, redis.Options{Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			_ = s.Close()
			t.Errorf("%q is accepted", bad)
		} else if strings.Contains(err.Error(), "hid") {
			t.Errorf("%q: the error contains the password: %v", bad, err)
		}
	}
}
