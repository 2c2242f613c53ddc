// SQL of tiles, hashes from tiles, and the growth of the tree.

package translog

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/database"
)

// tileHeight is the height of tiles in levels of the tree (C2SP tlog-tiles).
const tileHeight = 8

const tileWidth = 1 << tileHeight

// tileRow is a stored tile.
type tileRow struct {
	Level  int16
	N      int64
	Hashes []byte
}

// place identifies a tile.
type place struct {
	level int
	n     int64
}

// readTiles reads stored tiles in one query. A tile that is not stored is missing in the result.
func (l *Log) readTiles(ctx context.Context, q database.Querier, r row, places []place) (map[place][]byte, error) {
	levels, ns := make([]int16, len(places)), make([]int64, len(places))
	for i, p := range places {
		levels[i], ns[i] = int16(p.level), p.n
	}
	rows, err := database.All[tileRow](ctx, q, "read tiles", `
		SELECT t.level, t.n, t.hashes FROM unnest($2::smallint[], $3::bigint[]) AS w (level, n)
		JOIN log.tiles t ON t.log = $1 AND t.level = w.level AND t.n = w.n`, r.ID, levels, ns)
	tiles := make(map[place][]byte, len(rows))
	for _, t := range rows {
		tiles[place{int(t.Level), t.N}] = t.Hashes
	}
	return tiles, err
}

// writeTiles stores tiles, replacing shorter versions.
func writeTiles(ctx context.Context, tx database.Tx, r row, tiles map[place][]byte) error {
	levels, ns, hashes := make([]int16, 0, len(tiles)), make([]int64, 0, len(tiles)), make([][]byte, 0, len(tiles))
	for p, data := range tiles {
		levels, ns, hashes = append(levels, int16(p.level)), append(ns, p.n), append(hashes, data)
	}
	_, err := database.Exec(ctx, tx, "write tiles", `
		INSERT INTO log.tiles (log, level, n, hashes) SELECT $1, w.level, w.n, w.hashes
		FROM unnest($2::smallint[], $3::bigint[], $4::bytea[]) AS w (level, n, hashes)
		ON CONFLICT ON CONSTRAINT tiles_pkey DO UPDATE SET hashes = excluded.hashes`, r.ID, levels, ns, hashes)
	return err
}

// hashes reads hashes of the tree from the stored tiles, with one query for each call.
func (l *Log) hashes(ctx context.Context, r row) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var places []place
		seen := map[place]bool{}
		for _, i := range indexes {
			t := tlog.TileForIndex(tileHeight, i)
			if p := (place{t.L, t.N}); !seen[p] {
				seen[p] = true
				places = append(places, p)
			}
		}
		tiles, err := l.readTiles(ctx, l.db.Pool, r, places)
		if err != nil {
			return nil, err
		}
		return fromTiles(tiles, indexes)
	})
}

// fromTiles computes hashes of the tree from tiles.
func fromTiles(tiles map[place][]byte, indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		t := tlog.TileForIndex(tileHeight, index)
		data := tiles[place{t.L, t.N}]
		if len(data) < t.W*tlog.HashSize {
			return nil, fmt.Errorf("tile %d/%d has %d bytes, %d are needed", t.L, t.N, len(data), t.W*tlog.HashSize)
		}
		t.W = len(data) / tlog.HashSize
		var err error
		if out[i], err = tlog.HashFromTile(t, data, index); err != nil {
			return nil, fmt.Errorf("read tile: %w", err)
		}
	}
	return out, nil
}

// edge returns the places of the partial tiles of a tree, which the next entries fill.
func edge(size int64) []place {
	var places []place
	for level := 0; size>>(tileHeight*level) > 0; level++ {
		if width := size >> (tileHeight * level); width%tileWidth != 0 {
			places = append(places, place{level, width >> tileHeight})
		}
	}
	return places
}

// grow adds entries to a tree, whose partial tiles are in tiles. It replaces tiles by those that have changed and returns the new root.
func grow(size int64, tiles map[place][]byte, entries [][]byte) (map[place][]byte, tlog.Hash, error) {
	fresh := map[int64]tlog.Hash{}
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			if h, ok := fresh[index]; ok {
				out[i] = h
				continue
			}
			old, err := fromTiles(tiles, []int64{index})
			if err != nil {
				return nil, err
			}
			out[i] = old[0]
		}
		return out, nil
	})
	for i, entry := range entries {
		n := size + int64(i)
		list, err := tlog.StoredHashes(n, entry, reader)
		if err != nil {
			return nil, tlog.Hash{}, fmt.Errorf("add to tree: %w", err)
		}
		first := tlog.StoredHashIndex(0, n)
		for j, h := range list {
			fresh[first+int64(j)] = h
		}
	}
	grown := size + int64(len(entries))
	root, err := tlog.TreeHash(grown, reader)
	if err != nil {
		return nil, tlog.Hash{}, fmt.Errorf("hash tree: %w", err)
	}
	changed := map[place][]byte{}
	for _, t := range tlog.NewTiles(tileHeight, size, grown) {
		data, err := tlog.ReadTileData(t, reader)
		if err != nil {
			return nil, tlog.Hash{}, fmt.Errorf("make tile: %w", err)
		}
		changed[place{t.L, t.N}] = data
	}
	return changed, root, nil
}
