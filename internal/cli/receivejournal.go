package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// entry is a line of the journal of receive. Each file goes through placing, then placed: what is placing and has no part any more was
// placed, even if somebody has moved it on since.
type entry struct {
	Transfer string `json:"transfer"`
	Dir      string `json:"dir,omitempty"`    // of the transfer, below the folder
	Object   string `json:"object,omitempty"` // a file is placing, unless Placed
	Path     string `json:"path,omitempty"`
	Placed   bool   `json:"placed,omitempty"`
	Complete bool   `json:"complete,omitempty"` // all files of the transfer are placed
}

// receivings is the journal of one folder: what was received of which server. It is appended and synced, so that a process that is
// killed at any point neither loses a file nor receives one twice.
type receivings struct {
	mu       sync.Mutex
	file     *os.File
	unlock   func()
	dirs     map[string]string // by transfer
	placing  map[string]string // path by transfer and object
	placed   map[string]bool   // by transfer and object
	complete map[string]bool   // by transfer
}

// openReceivings opens the journal of a folder for a server. Errors: errLocked.
func (p *Program) openReceivings(server, folder string) (*receivings, error) {
	dir, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "received")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	id, err := sendID(server, folder)
	if err != nil {
		return nil, err
	}
	j := &receivings{dirs: map[string]string{}, placing: map[string]string{}, placed: map[string]bool{}, complete: map[string]bool{}}
	if j.unlock, err = lockFile(filepath.Join(dir, id+".lock"), false); err != nil {
		return nil, fmt.Errorf("receive to %s: %w", folder, err)
	}
	j.file, err = os.OpenFile(filepath.Join(dir, id+".jsonl"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = j.load()
	}
	if err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

func (j *receivings) close() {
	j.file.Close() // nil is an error, which does not matter
	j.unlock()
}

// load reads the journal. It cuts off a last line that a killed process has not finished.
func (j *receivings) load() error {
	raw, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(raw, '\n') + 1
	for line := range bytes.Lines(raw[:whole]) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return localError("the journal %s is damaged: %v", j.file.Name(), err)
		}
		j.apply(e)
	}
	if err := j.file.Truncate(int64(whole)); err != nil {
		return err
	}
	_, err = j.file.Seek(int64(whole), io.SeekStart)
	return err
}

func (j *receivings) apply(e entry) {
	key := e.Transfer + "/" + e.Object
	switch {
	case e.Complete:
		j.complete[e.Transfer] = true
	case e.Object == "":
		j.dirs[e.Transfer] = e.Dir
	case e.Placed:
		j.placed[key] = true
		delete(j.placing, key)
	default:
		j.placing[key] = e.Path
	}
}

// add appends an entry and syncs it.
func (j *receivings) add(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	at, err := j.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil { // such as a full disk: leave no part of a line
		_, seek := j.file.Seek(at, io.SeekStart)
		return errors.Join(err, j.file.Truncate(at), seek)
	}
	j.apply(e)
	return nil
}

// state returns what is known of an object.
func (j *receivings) state(transfer, object string) (path string, placing, placed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	key := transfer + "/" + object
	path, placing = j.placing[key]
	return path, placing, j.placed[key]
}

func (j *receivings) isComplete(transfer string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.complete[transfer]
}
