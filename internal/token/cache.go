package token

import (
	"strings"
	"sync"
)

// cacheSize bounds the entries of one generation of the cache. Two generations of tokens of about a kilobyte, with what
// they say, stay under 10 MB.
const cacheSize = 2048

// tokenCache remembers what tokens say whose signature was checked, since checking costs a hundred times more than a
// look-up. It is bounded by two halves: when the young one is full the old one is dropped, and what is still asked for
// moves over. Whether a token has expired or was revoked since is not its business.
type tokenCache struct {
	mu         sync.RWMutex
	generation uint64 // of the key ring; entries of an earlier one are void
	young, old map[string]Caller
}

// get returns the caller of a token that was verified with the ring's keys of the generation.
func (v *tokenCache) get(raw string, generation uint64) (Caller, bool) {
	v.mu.RLock()
	if v.generation != generation {
		v.mu.RUnlock()
		return Caller{}, false
	}
	c, ok := v.young[raw]
	if ok {
		v.mu.RUnlock()
		return c, true
	}
	c, ok = v.old[raw]
	v.mu.RUnlock()
	if ok {
		v.put(c, generation)
	}
	return c, ok
}

// put adds a caller by its Raw. generation is the ring's from before the token was verified.
func (v *tokenCache) put(c Caller, generation uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case generation < v.generation:
		return
	case generation > v.generation || v.young == nil:
		v.generation, v.old, v.young = generation, nil, map[string]Caller{}
	case len(v.young) >= cacheSize:
		v.old, v.young = v.young, make(map[string]Caller, cacheSize)
	}
	v.young[c.Raw] = c
}

// detached returns c with a Raw of its own, which does not keep the request's headers in memory.
func detached(c Caller) Caller {
	c.Raw = strings.Clone(c.Raw)
	return c
}
