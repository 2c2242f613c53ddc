// Interrupted sends in the state directory. A send is identified by what was asked for.

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/consign-dev/consign/client"
)

// sendLife is how long the server keeps an open reservation.
const sendLife = 48 * time.Hour

// sending is an upload that is not delivered yet, as it is stored to survive the process. The reservation's token in it is a secret.
type sending struct {
	ID      string        `json:"id"`
	Server  string        `json:"server"`
	To      string        `json:"to"` // for people
	Began   time.Time     `json:"began"`
	Files   []source      `json:"files"`
	Spooled bool          `json:"spooled,omitempty"` // the file is a copy of stdin
	Upload  client.Upload `json:"upload"`
	// Unverified is the sender's address that a mailbox wants to be verified first.
	Unverified string `json:"unverified,omitempty"`

	mu     sync.Mutex
	file   string
	unlock func()
}

func (p *Program) sendsDir() (string, error) {
	dir, err := p.stateDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "sends")
	return dir, os.MkdirAll(dir, 0o700)
}

// sendID identifies a send by what was asked for, so that the same command continues it.
func sendID(values ...any) (string, error) {
	raw, err := json.Marshal(values)
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:6]), err
}

// openSending locks the send of an id and reads what is stored of it. found is false for a new one. Errors: errLocked.
func (p *Program) openSending(id string) (s *sending, found bool, err error) {
	dir, err := p.sendsDir()
	if err != nil {
		return nil, false, err
	}
	s = &sending{ID: id, file: filepath.Join(dir, id+".json")}
	lock := filepath.Join(dir, id+".lock")
	unlock, err := lockFile(lock, false)
	if err != nil {
		return nil, false, err
	}
	s.unlock = func() {
		if _, err := os.Stat(s.file); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(lock)
		}
		unlock()
	}
	raw, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err == nil && json.Unmarshal(raw, s) != nil {
		return s, false, nil // damaged: begin again
	}
	if err != nil {
		s.unlock()
		return nil, false, err
	}
	return s, true, nil
}

// save stores the send.
func (s *sending) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return writeJSON(s.file, s)
}

// object stores the state of one file; it is called by several goroutines.
func (s *sending) object(i int, o client.UploadObject) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Upload.Objects[i] = o
	return writeJSON(s.file, s)
}

// forget removes what is stored.
func (s *sending) forget() error {
	if s.Spooled {
		for _, f := range s.Files {
			if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	err := os.Remove(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// sendings lists the stored sends.
func (p *Program) sendings() ([]*sending, error) {
	dir, err := p.sendsDir()
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	var all []*sending
	for _, name := range names {
		s := &sending{file: name}
		if raw, err := os.ReadFile(name); err == nil && json.Unmarshal(raw, s) == nil {
			all = append(all, s)
		}
	}
	return all, err
}
