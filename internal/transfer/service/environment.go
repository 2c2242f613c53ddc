package service

import (
	"context"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// Environment is what GET /environment tells.
type Environment struct {
	ServerVersion string
	Adminunit     transfer.Adminunit
}

// Environment returns the configuration of the adminunit that serves the caller's host.
func (s *Service) Environment(ctx context.Context, c token.Caller) (Environment, error) {
	unit, err := s.units.get(c.Client.Host.Organization, func() (transfer.Adminunit, error) {
		return s.Store.Adminunit(ctx, c.Client.Host.Organization, s.Defaults.Adminunit)
	})
	if err != nil {
		return Environment{}, err
	}
	return Environment{ServerVersion: s.Version, Adminunit: unit}, nil
}

// unitCache remembers adminunits for a moment, so that the environment, which everybody asks for and nothing limits,
// costs no database. The moment is short enough for settings to hold on every replica well within a second.
type unitCache struct {
	mu    sync.Mutex
	units map[id.Organization]cachedUnit
}

// forget has the organization's next look read the database.
func (c *unitCache) forget(o id.Organization) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.units, o)
}

type cachedUnit struct {
	unit  transfer.Adminunit
	until time.Time
}

const (
	unitTTL  = 500 * time.Millisecond
	maxUnits = 10_000
)

func (c *unitCache) get(o id.Organization, load func() (transfer.Adminunit, error)) (transfer.Adminunit, error) {
	now := time.Now() // the age of a copy is real time, whatever clock the service has
	c.mu.Lock()
	e, ok := c.units[o]
	c.mu.Unlock()
	if ok && now.Before(e.until) {
		return e.unit, nil
	}
	unit, err := load()
	if err != nil {
		return transfer.Adminunit{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.units == nil || len(c.units) >= maxUnits {
		c.units = map[id.Organization]cachedUnit{}
	}
	c.units[o] = cachedUnit{unit: unit, until: now.Add(unitTTL)}
	return unit, nil
}
