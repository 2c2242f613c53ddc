package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/kms"
	"github.com/consign-dev/consign/internal/seal"
)

// objectKeySetting holds the key of object keys, wrapped by CONSIGN_KMS_COMMAND.
const objectKeySetting = "storage.wrapped-key"

// objectKeys returns the box of the keys of files: under the secret key or, with CONSIGN_KMS_COMMAND, under a key that the command keeps.
// The latter opens what the secret key has sealed before.
func (a *App) objectKeys(ctx context.Context, sealer *seal.Sealer) (seal.Box, error) {
	box := sealer.Box("object key")
	command := kms.Parse(a.config.KMSCommand)
	if a.options.NoStorage {
		return box, nil
	}
	var wrapped []byte
	set, err := database.Setting(ctx, a.DB.Pool, objectKeySetting, &wrapped)
	switch {
	case err != nil:
		return box, err
	case len(command) == 0 && set:
		return box, errors.New("CONSIGN_KMS_COMMAND is not set, but keys of files are wrapped by it: set it again")
	case len(command) == 0:
		return box, nil
	}
	key, err := a.unwrapped(ctx, command, wrapped)
	if err != nil {
		return box, fmt.Errorf("CONSIGN_KMS_COMMAND: %w", err)
	}
	outer, err := seal.New(key, nil)
	if err != nil {
		return box, fmt.Errorf("CONSIGN_KMS_COMMAND: %w", err)
	}
	return outer.Box("object key").Or(box), nil
}

// unwrapped returns the key that the command keeps. The first server of an installation makes it.
func (a *App) unwrapped(ctx context.Context, command kms.Command, wrapped []byte) (key []byte, err error) {
	if wrapped != nil {
		return command.Unwrap(ctx, wrapped)
	}
	made := make([]byte, seal.MinSecret)
	rand.Read(made) // never fails
	fresh, err := command.Wrap(ctx, made)
	if err != nil {
		return nil, err
	}
	// Nothing is encrypted with a key that the command does not return.
	if key, err = command.Unwrap(ctx, fresh); err != nil {
		return nil, err
	}
	if string(key) != string(made) {
		return nil, errors.New("unwrap does not return what wrap got")
	}
	err = a.DB.InTx(ctx, func(tx database.Tx) error {
		if _, err := database.Exec(ctx, tx, "lock key of files", `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`,
			objectKeySetting); err != nil {
			return err
		}
		wrapped = nil
		if set, err := database.Setting(ctx, tx, objectKeySetting, &wrapped); err != nil || set {
			return err
		}
		return database.PutSetting(ctx, tx, a.now(), objectKeySetting, fresh)
	})
	if err == nil && wrapped != nil { // another server was first
		return command.Unwrap(ctx, wrapped)
	}
	return key, err
}
