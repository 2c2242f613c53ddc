// Buckets in the memory of one process, of bounded number.

package ratelimit

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

const (
	shards       = 64
	shardEntries = 2048        // 131,072 buckets in all, about 20 MB when full
	sweepEvery   = time.Minute // between two removals of a shard's drained buckets, which Take triggers
	evictSample  = 8
)

// Memory is a Store in this process with a bounded number of buckets. It removes drained buckets, which equal absent ones.
// A full shard evicts the bucket of a small sample that drains first.
type Memory struct {
	now    func() time.Time
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu      sync.Mutex
	buckets map[string]bucket
	swept   time.Time
}

type bucket struct {
	level Level
	empty time.Time // when the bucket will have drained
}

// NewMemory returns an empty store.
func NewMemory(now func() time.Time) *Memory {
	m := &Memory{now: now, seed: maphash.MakeSeed()}
	for i := range m.shards {
		m.shards[i].buckets = make(map[string]bucket)
	}
	return m
}

// Take implements Store; it returns no errors.
func (m *Memory) Take(_ context.Context, key string, l Limit) (Result, error) {
	s := &m.shards[m.shard(key)]
	s.mu.Lock()
	defer s.mu.Unlock()
	now := m.now()
	s.sweepIfDue(now)
	level, result := l.Take(s.buckets[key].level, now)
	if result.Allowed {
		s.put(Ask{Key: key, Limit: l}, level, now)
	}
	return result, nil
}

// TakeAll implements Store; it returns no errors. It locks the shards of all keys, in the order of their numbers.
func (m *Memory) TakeAll(_ context.Context, asks []Ask) (refused int, result Result, _ error) {
	var locked [shards]bool
	for _, a := range asks {
		locked[m.shard(a.Key)] = true
	}
	now := m.now()
	for i, wanted := range locked {
		if wanted {
			s := &m.shards[i]
			s.mu.Lock()
			defer s.mu.Unlock()
			s.sweepIfDue(now)
		}
	}
	levels := make([]Level, len(asks))
	for i, a := range asks {
		if levels[i], result = a.Limit.Take(m.shards[m.shard(a.Key)].buckets[a.Key].level, now); !result.Allowed {
			return i, result, nil
		}
	}
	for i, a := range asks {
		m.shards[m.shard(a.Key)].put(a, levels[i], now)
	}
	return -1, result, nil
}

// put stores the level of a bucket.
func (s *shard) put(a Ask, level Level, now time.Time) {
	key := a.Key
	if _, known := s.buckets[key]; !known {
		s.makeRoom(now)
		key = strings.Clone(key)
	}
	s.buckets[key] = bucket{level: level, empty: a.Limit.Empty(level)}
}

// Return implements Store; it returns no errors.
func (m *Memory) Return(_ context.Context, key string, l Limit) error {
	s := &m.shards[m.shard(key)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := s.buckets[key]; ok {
		level := l.Return(held.level, m.now())
		s.buckets[key] = bucket{level: level, empty: l.Empty(level)}
	}
	return nil
}

// Len returns how many buckets are held.
func (m *Memory) Len() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += len(s.buckets)
		s.mu.Unlock()
	}
	return n
}

// shard returns the number of a key's shard.
func (m *Memory) shard(key string) uint64 { return maphash.String(m.seed, key) % shards }

func (s *shard) sweepIfDue(now time.Time) {
	if now.Sub(s.swept) < sweepEvery {
		return
	}
	for key, b := range s.buckets {
		if !b.empty.After(now) {
			delete(s.buckets, key)
		}
	}
	s.swept = now
}

// makeRoom evicts a bucket if the shard is full. The bucket that drains first limits the least.
func (s *shard) makeRoom(now time.Time) {
	if len(s.buckets) < shardEntries {
		return
	}
	var victim string
	var first time.Time
	seen := 0
	for key, b := range s.buckets { // map order is random enough for a sample
		if seen == 0 || b.empty.Before(first) {
			victim, first = key, b.empty
		}
		if seen++; seen == evictSample || !first.After(now) {
			break
		}
	}
	delete(s.buckets, victim)
}
