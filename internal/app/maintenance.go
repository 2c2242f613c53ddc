package app

import (
	"context"
	"net/http"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/operator"
	"github.com/consign-dev/consign/internal/web"
)

const maintenanceSetting = "maintenance"

// SetMaintenance turns maintenance mode on or off on every replica, or announces it (contract 1.9).
func (a *App) SetMaintenance(ctx context.Context, m operator.Maintenance) error {
	return database.PutSetting(ctx, a.DB.Pool, a.now(), maintenanceSetting, m)
}

// Maintenance returns the maintenance that this replica knows of.
func (a *App) Maintenance() operator.Maintenance {
	if m := a.maintenance.Load(); m != nil {
		return *m
	}
	return operator.Maintenance{}
}

// inMaintenance reports whether requests are refused.
func (a *App) inMaintenance() bool { return a.Maintenance().Begun(a.now()) }

// watchSettings keeps this replica's copy of the maintenance mode up to date.
func (a *App) watchSettings() {
	a.listener.Handle(database.SettingsChannel, func(name string) {
		if name != maintenanceSetting {
			return
		}
		if err := a.loadMaintenance(context.Background()); err != nil {
			a.log.Error("maintenance mode could not be read", "error", err)
		}
	}, a.loadMaintenance)
}

func (a *App) loadMaintenance(ctx context.Context) error {
	var m operator.Maintenance
	if _, err := database.Setting(ctx, a.DB.Pool, maintenanceSetting, &m); err != nil {
		return err
	}
	if old := a.Maintenance(); old != m {
		a.log.Info("maintenance mode", "on", m.On, "from", m.From, "until", m.Until)
	}
	a.maintenance.Store(&m)
	return nil
}

// closedPage answers a browser during maintenance with a page, and reports whether it did.
func (a *App) closedPage(pages *web.Pages) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if a.ofAPI(r) || !web.PrefersHTML(r) {
			return false
		}
		pages.Closed(w, r, a.Maintenance().Until)
		return true
	}
}
