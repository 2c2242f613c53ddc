// Verify checks receipts and all tiles of a log with libraries of others: torchwood and sumdb/note. It shares no code with Consign.
//
//	verify LOG-URL RECEIPTS-DIR LOG-KEY [WITNESS-KEY …]
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	base, dir, keys := os.Args[1], os.Args[2], os.Args[3:]
	key, err := note.NewVerifier(keys[0])
	check(err)
	all := []torchwood.Policy{torchwood.OriginPolicy(key.Name()), torchwood.SingleVerifierPolicy(key)}
	for _, k := range keys[1:] {
		witness, err := torchwood.NewCosignatureVerifier(k)
		check(err)
		all = append(all, torchwood.SingleVerifierPolicy(witness))
	}
	policy := torchwood.ThresholdPolicy(len(all), all...)

	entries := map[string]bool{}
	receipts, err := filepath.Glob(filepath.Join(dir, "*.consign"))
	check(err)
	for _, name := range receipts {
		text, err := os.ReadFile(name)
		check(err)
		statement, proof, ok := strings.Cut(string(text), "\n\n")
		if !ok {
			log.Fatalf("%s has no empty line", name)
		}
		entry := sha256.Sum256([]byte(statement + "\n"))
		if err := torchwood.VerifyProof(policy, tlog.RecordHash(entry[:]), []byte(proof)); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		entries[string(entry[:])] = true
	}

	resp, err := http.Get(base + "/checkpoint")
	check(err)
	signed, err := io.ReadAll(resp.Body)
	check(err)
	checkpoint, _, err := torchwood.VerifyCheckpoint(signed, policy)
	check(err)
	fetcher, err := torchwood.NewTileFetcher(base)
	check(err)
	client, err := torchwood.NewClient(fetcher)
	check(err)
	n := int64(0)
	for i, entry := range client.AllEntries(context.Background(), checkpoint.Tree, 0) {
		if i != n {
			log.Fatalf("entry %d follows %d", i, n-1)
		}
		n++
		delete(entries, string(entry))
	}
	check(client.Err())
	if n != checkpoint.N || len(entries) > 0 {
		log.Fatalf("%d of %d entries read, %d receipts are not among them", n, checkpoint.N, len(entries))
	}
	fmt.Printf("%d receipts and all tiles of %d entries verify, with %d witnesses\n", len(receipts), n, len(keys)-1)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
