// Opens the storage: the place of CONSIGN_STORAGE_URL, and a second one while files are moved between both.

package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/blob/floor"
	"github.com/consign-dev/consign/internal/blob/pair"
	"github.com/consign-dev/consign/internal/blob/s3"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/transfer/content"
	transferpostgres "github.com/consign-dev/consign/internal/transfer/postgres"
)

// placesSetting lists the places that were a second storage, by their names. One of them that is empty now is not mounted, or another one.
const placesSetting = "storage-places"

// placeMark is the key of an empty object that keeps a place from being empty when all files were moved.
const placeMark blob.Key = "consign-place"

// blobStore opens the store of CONSIGN_STORAGE_URL, which encrypts if CONSIGN_STORAGE_ENCRYPTION says so; nil with Options.NoStorage.
func (a *App) blobStore(ctx context.Context, rows sealed.Rows, keys seal.Box) (blob.Store, error) {
	if a.options.NoStorage {
		return nil, nil
	}
	store, dir, err := a.openPlace(ctx, "STORAGE_URL", a.config.StorageURL, "spool", a.checkUnused)
	if err != nil {
		return nil, err
	}
	if a.config.StorageSecondURL != "" {
		if store, err = a.secondPlace(ctx, store); err != nil {
			return nil, err
		}
	}
	a.marks = store
	f := a.config.StorageFloor
	a.volume = floor.New(floor.Options{Dir: dir, Bytes: f.Bytes, Percent: f.Percent, Measure: a.options.Space, Log: a.log})
	a.sealed = sealed.New(sealed.Options{Inner: store, Rows: rows, Box: keys, On: a.config.StorageEncryption})
	return a.volume.Store(a.sealed), nil // above the encryption, whose last segment may go below the floor
}

// refusal returns an error when a place must not be empty. The message consists of the finding, a question to the operator, and the last
// resort.
type refusal func(ctx context.Context, found, question, otherwise string) error

// openPlace opens the store at a URL, the value of a setting. dir is on the volume that its uploads fill. empty is asked whether it may be
// empty.
func (a *App) openPlace(ctx context.Context, setting, storage, spool string, empty refusal) (store blob.Store, dir string, err error) {
	u, err := url.Parse(storage)
	if err != nil {
		return nil, "", fmt.Errorf("CONSIGN_%s is not a URL", setting) // err would contain the secret
	}
	dir = filepath.FromSlash(u.Path)
	if u.Scheme == "s3" {
		o, parseErr := s3.Parse(storage)
		if parseErr != nil {
			return nil, "", fmt.Errorf("CONSIGN_%s %w", setting, parseErr)
		}
		dir = filepath.Join(a.config.DataDir, spool)
		o.SpoolDir = dir
		store, err = bucketStore(ctx, o, empty)
	} else {
		store, err = a.diskStore(ctx, dir, empty)
	}
	if err != nil {
		return nil, "", fmt.Errorf("CONSIGN_%s: %w", setting, err)
	}
	return store, dir, nil
}

// bucketStore opens the store in a bucket.
func bucketStore(ctx context.Context, o s3.Options, refuse refusal) (blob.Store, error) {
	store, err := s3.New(ctx, o)
	if err != nil {
		return nil, err
	}
	empty, err := store.Empty(ctx)
	if err == nil && empty {
		err = refuse(ctx, fmt.Sprintf("nothing lies in bucket %s below %q", o.Bucket, o.Prefix), "are they the right ones?",
			"put any object there")
	}
	return store, err
}

// diskStore opens or creates the store in dir. A missing one is probably a file system that is not mounted.
func (a *App) diskStore(ctx context.Context, dir string, refuse refusal) (blob.Store, error) {
	layer := a.options.BlobFS
	if layer == nil {
		layer = disk.OS()
	}
	missing, err := disk.Missing(dir, layer)
	if err != nil {
		return nil, err
	}
	if missing {
		if err := refuse(ctx, dir+" holds neither uploads nor objects", "is it mounted?", "make both directories"); err != nil {
			return nil, err
		}
	}
	return disk.New(dir, layer)
}

// checkUnused refuses an empty storage when the database has rows of stored files.
func (a *App) checkUnused(ctx context.Context, found, question, otherwise string) error {
	used, err := content.StorageUsed(ctx, transferpostgres.New(a.DB))
	if err == nil && used {
		err = fmt.Errorf("%s, and the database knows that there were files: %s (to move them there, begin with CONSIGN_STORAGE_SECOND_URL; "+
			"if they are lost for good, bring back a backup, or %s; consign fsck then lists what is gone)", found, question, otherwise)
	}
	return err
}

// secondPlace opens the place of CONSIGN_STORAGE_SECOND_URL. It may be empty once: the database notes its name, and that of the first.
func (a *App) secondPlace(ctx context.Context, first blob.Store) (blob.Store, error) {
	names := []string{placeName(a.config.StorageURL), placeName(a.config.StorageSecondURL)}
	var known []string
	if _, err := database.Setting(ctx, a.DB.Pool, placesSetting, &known); err != nil {
		return nil, err
	}
	second, _, err := a.openPlace(ctx, "STORAGE_SECOND_URL", a.config.StorageSecondURL, "spool-second",
		func(_ context.Context, found, question, otherwise string) error {
			if !slices.Contains(known, names[1]) {
				return nil
			}
			return fmt.Errorf("%s, and it was a storage before: %s (if all files were moved from there, remove CONSIGN_STORAGE_SECOND_URL, or %s)",
				found, question, otherwise)
		})
	if err != nil {
		return nil, err
	}
	for _, in := range []blob.Store{first, second} {
		if err := markPlace(ctx, in); err != nil {
			return nil, fmt.Errorf("CONSIGN_STORAGE_SECOND_URL: mark the places: %w", err)
		}
	}
	a.places = pair.New(first, second)
	all := slices.Compact(slices.Sorted(slices.Values(append(names, known...))))
	if len(all) == len(known) {
		return a.places, nil
	}
	return a.places, database.PutSetting(ctx, a.DB.Pool, a.now(), placesSetting, all)
}

// markPlace stores the object that keeps a place from being empty.
func markPlace(ctx context.Context, in blob.Store) error {
	err := in.Finish(ctx, placeMark, 0)
	if !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	w, err := in.Append(ctx, placeMark, 0, 0)
	if err != nil {
		return err
	}
	_, err = w.Sync()
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return in.Finish(ctx, placeMark, 0)
}

// placeName returns the URL of a storage without secrets.
func placeName(storage string) string {
	u, err := url.Parse(storage)
	if err != nil {
		return ""
	}
	name := u.Scheme + "://" + u.Host + strings.TrimRight(u.Path, "/")
	if endpoint := u.Query().Get("endpoint"); endpoint != "" {
		name += " at " + strings.TrimRight(endpoint, "/")
	}
	return name
}

// EncryptStored encrypts the files that are stored in plain (content.Service.EncryptStored).
func (a *App) EncryptStored(ctx context.Context, damaged func(id.Object) error, progress func(content.Progress)) (content.EncryptResult,
	error) {
	if !a.config.StorageEncryption {
		return content.EncryptResult{},
			errors.New("CONSIGN_STORAGE_ENCRYPTION is off: turn it on for all replicas first, or new files stay plain")
	}
	return a.Content.EncryptStored(ctx, a.sealed, a.volume.Room, damaged, progress)
}

// MoveStored moves stored files from the place of CONSIGN_STORAGE_SECOND_URL to that of CONSIGN_STORAGE_URL (content.Service.Move). to is
// the latter, in which secrets and parameters may be missing.
func (a *App) MoveStored(ctx context.Context, to string, progress func(content.Progress)) (content.MoveResult, error) {
	name, _, _ := strings.Cut(placeName(a.config.StorageURL), " at ")
	switch asked, _, _ := strings.Cut(placeName(to), " at "); {
	case asked != name:
		return content.MoveResult{}, fmt.Errorf("CONSIGN_STORAGE_URL is not %s: files are moved from CONSIGN_STORAGE_SECOND_URL "+
			"to CONSIGN_STORAGE_URL, and all servers must have both", asked)
	case a.places == nil:
		return content.MoveResult{}, errors.New("CONSIGN_STORAGE_SECOND_URL is not set: it is where the files are that are to be moved")
	}
	return a.Content.Move(ctx, a.places, a.volume.Room, progress)
}
