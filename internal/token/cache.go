package token

import (
	"strings"
	"sync"
)

// cacheSize is the capacity of one half of the cache. Two halves of tokens of about 1 KB stay under 10 MB.
const cacheSize = 2048

// tokenCache holds the callers of verified tokens, because verifying a signature costs a hundred times a look-up. It has two
// halves: when the young half is full it replaces the old one, and an entry that is read from the old half moves to the
// young one. The caller of get checks expiry and revocation.
type tokenCache struct {
	mu         sync.RWMutex
	generation uint64 // of the key ring; entries of an earlier generation are void
	young, old map[string]Caller
}

// get returns the caller of a token that was verified with the ring's keys of that generation.
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

// put adds a caller under its Raw. generation is the ring's, read before the token was verified.
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

// detached returns c with a copy of Raw, which does not keep the request's headers in memory.
func detached(c Caller) Caller {
	c.Raw = strings.Clone(c.Raw)
	return c
}
