// Tests of consign verify with receipts of fixed keys, and of consign log.

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/cli"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

const vectors = "../../internal/transfer/testdata/receipt/"

// TestVerify verifies the test vectors, and refuses what was changed, is of another log, or lacks what is demanded.
func TestVerify(t *testing.T) {
	t.Parallel()
	original, err := os.ReadFile(vectors + "receipt.consign")
	if err != nil {
		t.Fatal(err)
	}
	witness, err := os.ReadFile(vectors + "witness")
	if err != nil {
		t.Fatal(err)
	}
	certified, err := os.ReadFile(vectors + "certificate.consign")
	if err != nil {
		t.Fatal(err)
	}
	account, err := os.ReadFile(vectors + "account.consign")
	if err != nil {
		t.Fatal(err)
	}
	changed, foreign := filepath.Join(t.TempDir(), "changed.consign"), filepath.Join(t.TempDir(), "foreign.txt")
	falsified, counted := filepath.Join(t.TempDir(), "falsified.consign"), filepath.Join(t.TempDir(), "counted.consign")
	for name, content := range map[string]string{
		falsified: strings.Replace(string(certified), "files 1\n", "files 2\n", 1),
		counted:   strings.Replace(string(account), "files 2\n", "files 3\n", 1),
		changed:   strings.Replace(string(original), "Pictures", "Pictured", 1), foreign: "hallo",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key, receipt, hello, stamped := "--key="+vectors+"keys", vectors+"receipt.consign", vectors+"hello.txt", vectors+"stamped.consign"
	trusted, authority := "--witness="+strings.TrimSpace(string(witness)), "--tsa-cert="+vectors+"tsa.pem"
	for _, c := range []struct {
		name    string
		args    []string
		refused bool
		says    string
	}{
		{"a receipt", []string{key, receipt}, false, "entry 4 of the log files.example.com"},
		{"its file", []string{key, receipt, hello}, false, "ok "},
		{"a witness", []string{key, trusted, receipt}, false, "Witness: witness.example/w1 2026-11-23T03:45:16Z"},
		{"an event", []string{key, vectors + "erased.consign"}, false, "erased"},
		{"a certificate of erasure", []string{key, vectors + "certificate.consign"}, false,
			"060c7d were erased by 2026-12-08T03:44:16.297Z, because it had expired."},
		{"a certificate of an account", []string{key, vectors + "account.consign"}, false,
			"060c7e was erased by 2026-12-09T03:44:16.297Z, because the person deleted it: its profile"},
		{"a changed certificate of an account", []string{key, counted}, true, "REFUSED"},
		{"a changed certificate", []string{key, falsified}, true, "REFUSED"},
		{"a time stamp that nobody is trusted for", []string{key, stamped}, false, "which was not checked"},
		{"a time stamp", []string{key, authority, stamped}, false, "as a service that you trust says"},
		{"no time stamp", []string{key, authority, receipt}, true, "REFUSED: the time stamp is wrong: the receipt has none"},
		{"no witness", []string{key, trusted, vectors + "erased.consign"}, true, "REFUSED"},
		{"a changed receipt", []string{key, changed}, true, "REFUSED"},
		{"another file", []string{key, receipt, foreign}, true, "is no file of this receipt"},
	} {
		out, _, err := consign(t.Context(), nil, append([]string{"verify"}, c.args...)...)
		if errors.Is(err, cli.ErrRefused) != c.refused || !c.refused && err != nil || !strings.Contains(out, c.says) {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
		var v struct{ Valid bool }
		out, _, err = consign(t.Context(), nil, append([]string{"verify", "--json"}, c.args...)...)
		if jsonErr := json.Unmarshal([]byte(out), &v); jsonErr != nil || v.Valid == c.refused || errors.Is(err, cli.ErrRefused) != c.refused {
			t.Errorf("%s as JSON: %v %v\n%s", c.name, jsonErr, err, out)
		}
	}
	for _, args := range [][]string{{receipt}, {"--key=x", receipt}, {key, "--witness=x", receipt},
		{key, "--tsa-cert=" + vectors + "keys", receipt}, {key}} {
		if _, _, err := consign(t.Context(), nil, append([]string{"verify"}, args...)...); err == nil || errors.Is(err, cli.ErrRefused) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestLogCommands: key, rotate and status of the log of receipts, and the erasure of one receipt.
func TestLogCommands(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	environ := external(t, url)
	do := runOperator(t, environ)
	if text := do("log", "key"); !strings.HasSuffix(text, " signing\n") {
		t.Errorf("log key: %s", text)
	}
	fresh := strings.TrimSpace(do("log", "rotate"))
	if text := do("log", "key"); !strings.HasPrefix(text, fresh+" signing\n") || !strings.HasSuffix(text, " replaced\n") {
		t.Errorf("after a rotation: %s", text)
	}
	if text := do("log", "status"); !strings.Contains(text, "entries") {
		t.Errorf("log status: %s", text)
	}
	db, err := database.New(t.Context(), url, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	uid := id.New[id.Transfer]()
	_, err = database.Exec(t.Context(), db.Pool, "insert receipts", `
		INSERT INTO transfer.receipts (transfer, kind, entry, body, readers, named, created_at)
		SELECT $1, kind, sha256(convert_to(kind, 'UTF8')), 'Sam', ARRAY [gen_random_uuid()], ARRAY [gen_random_uuid()], now()
			FROM unnest(ARRAY ['delivered', 'opened', 'erased']) kind`, uid)
	if err == nil {
		_, err = database.Exec(t.Context(), db.Pool, "insert part",
			`INSERT INTO transfer.receipt_parts (transfer, part, body) VALUES ($1, 1, 'more')`, uid)
	}
	if err != nil {
		t.Fatal(err)
	}
	do("log", "erase", uid.String())
	left, err := database.Scalar[int](t.Context(), db.Pool, "count", nil, `
		SELECT (SELECT count(*) FROM transfer.receipts WHERE (body IS NULL) = (kind = 'erased') OR sender_key_hash IS NOT NULL
			OR octet_length(entry) <> 32) + (SELECT count(*) FROM transfer.receipt_parts)`)
	if err != nil || left != 0 { // hashes stay, and the certificate of erasure
		t.Errorf("%d differ: %v", left, err)
	}
	for _, args := range [][]string{{"log", "erase", id.New[id.Transfer]().String()}, {"log", "erase", "x"}, {"log", "erase"},
		{"log", "certificate"}, {"log", "certificate", "x"}, {"log", "certificate", "--person", "x"},
		{"log", "certificate", "--person", uid.String()}, {"log", "certificate", "--person", uid.String(), uid.String()},
		{"log", "nothing"}} {
		if _, _, err := consign(t.Context(), environ, args...); err == nil {
			t.Errorf("%v succeeds", args)
		}
	}
}
