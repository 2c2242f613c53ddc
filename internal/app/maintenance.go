package app

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
)

const maintenanceSetting = "maintenance"

// SetMaintenance turns maintenance mode on or off on every replica (contract 1.9).
func (a *App) SetMaintenance(ctx context.Context, on bool) error {
	return database.PutSetting(ctx, a.DB.Pool, a.now(), maintenanceSetting, on)
}

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
	on := false
	if _, err := database.Setting(ctx, a.DB.Pool, maintenanceSetting, &on); err != nil {
		return err
	}
	if a.maintenance.Swap(on) != on {
		a.log.Info("maintenance mode", "on", on)
	}
	return nil
}
