// The zip of everything that was handed in, and the table of it.

package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"github.com/consign-dev/consign/internal/archive"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
)

// withheldName is the file of an archive that lists what the gate of inspections does not give.
const withheldName = "WITHHELD.txt"

// OpenArchive opens the zip of the files that were handed in, of each item those of the last time. Files that the inspection withholds, and
// damaged ones, are listed in it. It implements transfer/service.Requests.
func (s *Service) OpenArchive(ctx context.Context, caller token.Caller, uid id.Request) (request.Archive, error) {
	d, err := s.Request(ctx, caller, uid)
	if err != nil {
		return request.Archive{}, err
	}
	stored, err := s.Store.StoredFiles(ctx, uid)
	if err != nil {
		return request.Archive{}, err
	}
	given, withheld := []postgres.Stored{}, []string{}
	var names []string
	for _, f := range stored {
		name := d.place(f)
		if f.Damaged || f.Check(f.Scan) != nil {
			withheld = append(withheld, name)
			continue
		}
		given, names = append(given, f), append(names, name)
	}
	var note []byte
	if len(withheld) > 0 {
		note = []byte(strings.Join(withheld, "\r\n") + "\r\n")
		names = append(names, withheldName)
	}
	files := make([]archive.File, 0, len(names))
	for i, name := range archive.Names(names) {
		if i == len(given) {
			files = append(files, archive.File{Name: name, Size: int64(len(note)), CRC32: crc32.ChecksumIEEE(note)})
			continue
		}
		files = append(files, archive.File{Name: name, Size: given[i].Held, CRC32: given[i].CRC32})
	}
	sum := sha256.New() // a later hand-in or check makes other bytes
	for i, f := range files {
		fmt.Fprintf(sum, "%q %d %d ", f.Name, f.Size, f.CRC32)
		if i < len(given) {
			_, _ = sum.Write(given[i].SHA256)
		}
	}
	zip := archive.New(files, d.CreatedAt)
	content := zip.Open(func(i int) (io.ReadSeekCloser, error) {
		if i == len(given) {
			return noted{bytes.NewReader(note)}, nil
		}
		f := given[i]
		return s.Content.Open(ctx, transfer.Object{UID: f.Object, Content: f.Content, IntendedSize: f.Held, Held: f.Held,
			SHA256: f.SHA256, Segmented: f.Segmented, Scan: f.Scan}, f.Gate)
	})
	return request.Archive{Title: d.Title, Content: content, Size: zip.Size(), Sum: sum.Sum(nil)}, nil
}

// noted is a text in an archive.
type noted struct{ *bytes.Reader }

// Close implements io.Closer.
func (noted) Close() error { return nil }

// place returns the name of a file in an archive: the party's folder, then "Surname - item.ext".
func (d Detail) place(f postgres.Stored) string {
	folder, item := "", ""
	for _, p := range d.Parties {
		if p.UID == f.Party {
			folder = p.Called()
		}
	}
	for _, it := range d.Items {
		if it.UID == f.Item {
			item = it.Name
		}
	}
	words := strings.Fields(folder)
	surname := folder
	if len(words) > 0 {
		surname = words[len(words)-1]
	}
	plain := strings.NewReplacer("/", "-", `\`, "-")
	return plain.Replace(folder) + "/" + plain.Replace(surname+" - "+item) + path.Ext(f.Name)
}

// Cell is one row of the table of a request: a party and an item.
type Cell struct {
	Party PartyDetail
	Item  request.Item
	State request.PartyItem // without a state: open
	Files []postgres.File
}

// Table returns the rows of a request.
func (d Detail) Table() func(yield func(Cell, error) bool) {
	return func(yield func(Cell, error) bool) {
		for _, p := range d.Parties {
			for _, it := range d.Items {
				state, handed := p.Items[it.UID]
				if !handed {
					state.State = request.ItemOpen
				}
				if !yield(Cell{p, it, state, p.Files[it.UID]}, nil) {
					return
				}
			}
		}
	}
}
