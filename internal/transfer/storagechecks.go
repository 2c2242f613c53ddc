package transfer

import (
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
)

// The states of a StorageCheck.
const (
	CheckRunning   = "running"
	CheckDone      = "done"
	CheckCancelled = "cancelled"
)

// ErrNoCheck says that there is no check with this uid.
var ErrNoCheck = fault.ErrNotFound.With("check: there is no check with this uid")

// StorageCheck is a check of all stored files that an operator has started.
type StorageCheck struct {
	UID        id.StorageCheck
	StartedAt  time.Time
	FinishedAt *time.Time
	State      string
	Total      *int64    // objects at its beginning; nil: not counted yet
	Compared   id.Object // the last one; zero: none
	Listed     bool      // all rows were compared; bytes without a row are looked for
	Objects    int64     // compared
	Bytes      int64     // read
	Findings   int64
	Problems   []StorageProblem // the first ones
	SweepOff   bool             // orphans are not removed until they are accepted
}

// StorageProblem is a finding of a StorageCheck.
type StorageProblem struct {
	Kind   string    `json:"kind"` // lost, damaged or orphan
	Object id.Object `json:"object"`
	Detail string    `json:"detail"`
}

// StorageSize counts what is stored: objects of which bytes are held, each content once.
type StorageSize struct {
	Objects, Bytes                   int64
	EncryptedObjects, EncryptedBytes int64
}
