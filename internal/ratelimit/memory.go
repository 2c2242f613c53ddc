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
	s := m.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := m.now()
	if now.Sub(s.swept) >= sweepEvery {
		s.sweep(now)
	}
	held, known := s.buckets[key]
	level, result := l.Take(held.level, now)
	if !result.Allowed && !known {
		return result, nil
	}
	if !known {
		s.makeRoom(now)
		key = strings.Clone(key)
	}
	s.buckets[key] = bucket{level: level, empty: l.Empty(level)}
	return result, nil
}

// Return implements Store; it returns no errors.
func (m *Memory) Return(_ context.Context, key string, l Limit) error {
	s := m.shard(key)
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

func (m *Memory) shard(key string) *shard {
	return &m.shards[maphash.String(m.seed, key)%shards]
}

func (s *shard) sweep(now time.Time) {
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
