// A log in files, without a database: the log of the release key. It has the same form as the log that a server serves.

package translog

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/proof"
)

// Directory is a log in a directory: checkpoint, tile/LEVEL/N and tile/entries/N (C2SP tlog-tiles). One process at a time changes it.
type Directory struct {
	dir      string
	signer   *proof.Signer
	verifier note.Verifier
}

// NewDirectory returns the log in a directory, which may be empty.
func NewDirectory(dir, origin string, key ed25519.PrivateKey) (*Directory, error) {
	text, err := proof.VerifierKey(origin, key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	verifier, err := note.NewVerifier(text)
	if err != nil {
		return nil, fmt.Errorf("read log key: %w", err)
	}
	return &Directory{dir: dir, signer: proof.NewSigner(origin, key), verifier: verifier}, nil
}

// Append adds entries, signs the new checkpoint, and returns the proof of each entry. An entry has the length of a hash.
func (d *Directory) Append(entries [][]byte) ([]proof.Proof, error) {
	tree, err := d.tree()
	if err != nil {
		return nil, err
	}
	tiles, err := d.edge(tree)
	if err != nil {
		return nil, err
	}
	changed, root, err := grow(tree.N, tiles, entries)
	if err != nil {
		return nil, err
	}
	grown := proof.Tree{Origin: tree.Origin, Tree: tlog.Tree{N: tree.N + int64(len(entries)), Hash: root}}
	for p, data := range changed {
		if err := d.write(tilePath(tlog.Tile{H: tileHeight, L: p.level, N: p.n, W: len(data) / tlog.HashSize}), data); err != nil {
			return nil, err
		}
	}
	if err := d.writeEntries(tree.N, entries); err != nil {
		return nil, err
	}
	signed, err := note.Sign(&note.Note{Text: proof.CheckpointText(grown)}, d.signer)
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	if err := d.write("checkpoint", signed); err != nil { // last: it publishes the rest
		return nil, err
	}
	return d.prove(grown.Tree, tree.N, signed)
}

// tree returns the state of the log, as its checkpoint says.
func (d *Directory) tree() (proof.Tree, error) {
	signed, err := os.ReadFile(filepath.Join(d.dir, "checkpoint"))
	if errors.Is(err, fs.ErrNotExist) {
		root, err := tlog.TreeHash(0, nil)
		return proof.Tree{Origin: d.signer.Name(), Tree: tlog.Tree{Hash: root}}, err
	}
	if err != nil {
		return proof.Tree{}, err
	}
	v, err := proof.OpenCheckpoint(signed, proof.Policy{Logs: []note.Verifier{d.verifier}})
	if err != nil {
		return proof.Tree{}, fmt.Errorf("the log in %s is not of this key: %w", d.dir, err)
	}
	return v.Tree, nil
}

// edge reads the tiles that the next entries fill, and checks that they are those of the checkpoint.
func (d *Directory) edge(tree proof.Tree) (map[place][]byte, error) {
	tiles := map[place][]byte{}
	for _, p := range edge(tree.N) {
		data, err := d.read(tlog.Tile{H: tileHeight, L: p.level, N: p.n, W: int(tree.N>>(tileHeight*p.level)) % tileWidth})
		if err != nil {
			return nil, err
		}
		tiles[p] = data
	}
	root, err := tlog.TreeHash(tree.N, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) { return fromTiles(tiles, indexes) }))
	if err == nil && root != tree.Hash {
		err = fmt.Errorf("the tiles in %s are not those of its checkpoint", d.dir)
	}
	return tiles, err
}

// writeEntries adds entries, whose first has this index, to the bundles.
func (d *Directory) writeEntries(first int64, entries [][]byte) error {
	for len(entries) > 0 {
		n, held := first/tileWidth, int(first%tileWidth)
		var before []byte
		if held > 0 {
			var err error
			if before, err = os.ReadFile(filepath.Join(d.dir, bundlePath(n, held))); err != nil {
				return err
			}
		}
		added := min(len(entries), tileWidth-held)
		content := append(before, bundle(entries[:added])...)
		if err := d.write(bundlePath(n, held+added), content); err != nil {
			return err
		}
		first, entries = first+int64(added), entries[added:]
	}
	return nil
}

// prove returns the proofs of all entries from first on. It reads the tiles from the files again.
func (d *Directory) prove(tree tlog.Tree, first int64, checkpoint []byte) ([]proof.Proof, error) {
	var proofs []proof.Proof
	for index := first; index < tree.N; index++ {
		hashes, err := tlog.ProveRecord(tree.N, index, tlog.TileHashReader(tree, d))
		if err != nil {
			return nil, fmt.Errorf("prove log entry: %w", err)
		}
		proofs = append(proofs, proof.Proof{Index: index, Hashes: hashes, Checkpoint: checkpoint})
	}
	return proofs, nil
}

// Height implements tlog.TileReader.
func (d *Directory) Height() int { return tileHeight }

// ReadTiles implements tlog.TileReader.
func (d *Directory) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, t := range tiles {
		data, err := d.read(t)
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

// SaveTiles implements tlog.TileReader.
func (d *Directory) SaveTiles([]tlog.Tile, [][]byte) {}

func (d *Directory) read(t tlog.Tile) ([]byte, error) {
	return os.ReadFile(filepath.Join(d.dir, tilePath(t)))
}

func (d *Directory) write(name string, content []byte) error {
	name = filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644)
}

// tilePath returns the path of a tile below the log.
func tilePath(t tlog.Tile) string {
	return "tile/" + strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d/", tileHeight))
}

// bundlePath returns the path of a bundle of entries.
func bundlePath(n int64, width int) string {
	return strings.Replace(tilePath(tlog.Tile{H: tileHeight, N: n, W: width}), "/0/", "/entries/", 1)
}
