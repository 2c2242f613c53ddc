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

// StorageCheck is a check of all stored files.
type StorageCheck struct {
	UID        id.StorageCheck
	StartedAt  time.Time
	FinishedAt *time.Time
	State      string
	Scrub      bool      // a job has started it, and it reads slowly
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

// Damage is a content whose stored bytes were found lost or damaged, with whom to tell.
type Damage struct {
	Content   id.Object
	Detail    string // in English
	FoundAt   time.Time
	Transfers []DamagedTransfer // the first ones that have the content and have not ended
}

// DamagedTransfer is a transfer with a damaged file.
type DamagedTransfer struct {
	UID        id.Transfer `json:"uid"`
	Sender     string      `json:"sender"`     // address, empty if unknown
	Recipients []string    `json:"recipients"` // the first addresses
}

// StorageSize counts what is stored: objects of which bytes are held, each content once.
type StorageSize struct {
	Objects, Bytes                   int64
	EncryptedObjects, EncryptedBytes int64
}
