// The command verify: its arguments, and a receipt with its files, which it checks offline with pinned keys.

package cli

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/transfer"
)

// verdict is the result of consign verify, as --json prints it.
type verdict struct {
	Valid     bool                     `json:"valid"`
	Error     string                   `json:"error,omitempty"`
	Log       string                   `json:"log,omitempty"`
	Index     int64                    `json:"index"`
	Size      int64                    `json:"size,omitempty"`
	SignedBy  []string                 `json:"signedBy,omitempty"`
	Witnesses []string                 `json:"witnesses,omitempty"`
	TimeStamp bool                     `json:"timeStamp"`               // there is one
	StampedAt *time.Time               `json:"timeStampedAt,omitempty"` // its time, verified with --tsa-cert
	Statement []transfer.StatementLine `json:"statement,omitempty"`
	Margin    *int64                   `json:"marginMs,omitempty"` // of a hand-in: milliseconds before the due time, negative: after it
	Files     []fileVerdict            `json:"files"`
	Missing   []string                 `json:"missing,omitempty"` // objects of the receipt for which no file was given
}

type fileVerdict struct {
	Path string `json:"path"`
	Name string `json:"name,omitempty"` // in the receipt
	OK   bool   `json:"ok"`

	Changed bool `json:"changed,omitempty"` // an object of the receipt has its name, and other bytes
}

func (p *Program) verifyCommand() *cobra.Command {
	var keys, witnesses, proofs []string
	var tsaCert, site string
	var ofRelease bool
	c := &cobra.Command{
		Use: "verify [flags] --key KEY… receipt.consign [FILE…]", Short: "Verify a receipt and files, a release, or the pages of a server",
		Long: `Verify a receipt and files offline. The receipt is the file receipt.consign, or the PDF to which it is attached. 
KEY is the key of the log that you trust, or a file with such keys, as /log/keys of the server.

verify --key KEY --release FILE… says offline whether each file is of a release that is in the log of the release key. The proof
consign-VERSION.release lies beside the file, or is named with --proof.
verify --key KEY --site https://… compares what a server sends to browsers with what the log says of its version. The proof
consign-VERSION.pages lies in the current directory, or is named with --proof.

The exit code is 1 when a receipt, a file or a server is refused.`,
		RunE: func(c *cobra.Command, paths []string) error {
			receipt := site == "" && !ofRelease
			switch {
			case site != "" && (ofRelease || len(paths) > 0), site == "" && len(paths) == 0, receipt && len(proofs) > 0,
				!receipt && tsaCert != "":
				return usageError("verify takes a receipt with its files, or --release with files, or --site without; --proof is of the last two, " +
					"--tsa-cert of a receipt\nusage: " + c.UseLine())
			}
			policy, err := pinned(keys, witnesses)
			switch {
			case err != nil:
				return err
			case site != "":
				return p.verifySite(c.Context(), site, proofs, policy)
			case ofRelease:
				return p.verifyRelease(paths, proofs, policy)
			}
			return p.verify(paths, policy, tsaCert)
		},
	}
	c.Flags().StringArrayVar(&keys, "key", nil, "key of the log, or a file with keys; can be repeated")
	c.Flags().StringArrayVar(&witnesses, "witness", nil, "key of a witness that must have signed; can be repeated")
	c.Flags().StringVar(&tsaCert, "tsa-cert", "", "file with the certificate of a trusted time stamp service (PEM)")
	c.Flags().BoolVar(&ofRelease, "release", false, "the files are those of a release")
	c.Flags().StringVar(&site, "site", "", "address of a server, as https://files.example.com")
	c.Flags().StringArrayVar(&proofs, "proof", nil, "file with what the log says of a release; can be repeated")
	c.Flags().BoolVar(&p.json, "json", false, "print JSON")
	return c
}

// verify checks a receipt and files offline.
func (p *Program) verify(paths []string, policy proof.Policy, tsaCert string) error {
	roots, err := authorities(tsaCert)
	if err != nil {
		return err
	}
	file, err := os.ReadFile(paths[0])
	if err != nil {
		return err
	}
	v, err := judge(file, paths[1:], policy, roots)
	if err != nil {
		return err
	}
	if p.json {
		err = p.emit(v)
	} else {
		err = v.print(p.Stdout)
	}
	if err == nil && !v.Valid {
		return ErrRefused
	}
	return err
}

// pinned reads the keys that the caller trusts. Each is a key or the name of a file with one key a line, such as a copy of /log/keys.
func pinned(keys, witnesses []string) (proof.Policy, error) {
	var policy proof.Policy
	if len(keys) == 0 {
		return policy, usageError("verify: --key is missing: the key of the log that you trust, or a file with it (consign log key, or " +
			"/log/keys of the server)")
	}
	for _, k := range keys {
		lines := []string{k}
		if content, err := os.ReadFile(k); err == nil {
			lines = strings.Split(strings.TrimSpace(string(content)), "\n")
		}
		for _, line := range lines {
			key, _, _ := strings.Cut(line, " ")
			v, err := note.NewVerifier(key)
			if err != nil {
				return policy, usageError(fmt.Sprintf("verify: %q is neither a key nor a file with keys", line))
			}
			policy.Logs = append(policy.Logs, v)
		}
	}
	for _, w := range witnesses {
		c, err := proof.NewCosigner(w)
		if err != nil {
			return policy, usageError(fmt.Sprintf("verify: --witness %q %v", w, err))
		}
		policy.Witnesses = append(policy.Witnesses, c)
	}
	policy.Quorum = len(policy.Witnesses)
	return policy, nil
}

// authorities reads the certificates of time stamp services that the caller trusts; nil without a file.
func authorities(name string) (*x509.CertPool, error) {
	if name == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, usageError(fmt.Sprintf("verify: --tsa-cert: %s has no certificate in PEM", name))
	}
	return roots, nil
}

// stamped returns the verified time of the time stamp; nil when no authority is trusted.
func stamped(v proof.Verified, roots *x509.CertPool) (*time.Time, error) {
	if roots == nil {
		return nil, nil
	}
	if len(v.Extra) == 0 {
		return nil, fmt.Errorf("%w: the receipt has none", proof.ErrStamp)
	}
	at, err := proof.CheckStamp(v.Extra, v.Text, roots)
	if err != nil {
		return nil, err
	}
	return &at, nil
}

// judge verifies a receipt and compares files with it.
func judge(file []byte, paths []string, policy proof.Policy, roots *x509.CertPool) (verdict, error) {
	v := verdict{Files: []fileVerdict{}}
	statement, p, err := proof.Split(proof.Attached(file))
	var checked proof.Verified
	if err == nil {
		checked, err = proof.Verify(p, proof.Entry(statement), policy)
	}
	if err == nil {
		v.StampedAt, err = stamped(checked, roots)
	}
	var parsed transfer.Statement
	if err == nil {
		parsed, err = transfer.ParseStatement(statement)
	}
	if err != nil {
		v.Error = err.Error()
		return v, nil
	}
	v.Valid, v.Log, v.Index, v.Size, v.SignedBy, v.TimeStamp = true, checked.Origin, checked.Index, checked.N, checked.SignedBy,
		len(checked.Extra) > 0
	for _, c := range checked.Cosignatures {
		v.Witnesses = append(v.Witnesses, c.Witness+" "+c.At.Format("2006-01-02T15:04:05Z"))
	}
	v.Statement = parsed.Lines
	if margin, ok := parsed.Margin(); ok {
		ms := margin.Milliseconds()
		v.Margin = &ms
	}
	return v, v.compare(parsed.Objects, paths)
}

// compare looks for each file among the objects, by its hash and size. Names do not matter: files are often renamed.
func (v *verdict) compare(objects []transfer.StatedObject, paths []string) error {
	rest := slices.Clone(objects)
	for _, path := range paths {
		sum, size, err := hashFile(path)
		if err != nil {
			return err
		}
		same := func(o transfer.StatedObject) bool { return o.SHA256 == sum && o.Size == size }
		f := fileVerdict{Path: path}
		if i := slices.IndexFunc(objects, same); i >= 0 {
			f.OK, f.Name = true, objects[i].Name
			rest = slices.DeleteFunc(rest, same)
		} else {
			v.Valid, v.Error = false, "a file is not one of the receipt"
			f.Changed = slices.ContainsFunc(objects, func(o transfer.StatedObject) bool {
				return filepath.Base(filepath.FromSlash(o.Name)) == filepath.Base(path)
			})
		}
		v.Files = append(v.Files, f)
	}
	for _, o := range rest {
		if len(paths) > 0 {
			v.Missing = append(v.Missing, o.Name)
		}
	}
	return nil
}

func hashFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	return hashOf(f)
}

func hashOf(r io.Reader) (sum string, size int64, err error) {
	h := sha256.New()
	size, err = io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// marginWords says how long before or after the due time something was handed in, with the two largest units.
func marginWords(margin time.Duration) string {
	side := "before the deadline."
	if margin < 0 {
		margin, side = -margin, "AFTER the deadline: it is late."
	}
	units := []struct {
		name string
		of   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}
	var parts []string
	for _, u := range units {
		if n := margin / u.of; (n > 0 || u.name == "ms" && len(parts) == 0) && len(parts) < 2 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
			margin %= u.of
		}
	}
	return strings.Join(parts, " ") + " " + side
}

// erasureReasons says why something was erased.
var erasureReasons = map[string]string{
	transfer.ErasedByExpiry: "it had expired", transfer.ErasedByRetention: "its organization keeps nothing for longer",
	transfer.ErasedByDeletion: "it was deleted", transfer.ErasedWithAccount: "the account of the last person who had it was deleted",
}

// erasureWords says in a sentence what a certificate of erasure certifies, and what not; empty for other statements.
func erasureWords(s transfer.Statement) string {
	if s.Get("event") != transfer.StatedErased {
		return ""
	}
	if s.Get("person") != "" {
		return accountWords(s)
	}
	what, why := "The stored files", ""
	if n := s.Get("files"); n != "" {
		what = "All stored files (" + n + ")"
	}
	if reason := erasureReasons[s.Get("reason")]; reason != "" {
		why = ", because " + reason
	}
	return what + " of the transfer " + s.Get("transfer") + " were erased by " + s.Get("at") + why + ". The receipt with the hash above " +
		"says which files these were.\nThis says nothing about copies elsewhere: in backups, and of those who had downloaded them."
}

// accountWords is erasureWords for the account of a person.
func accountWords(s transfer.Statement) string {
	by := map[string]string{transfer.DeletedByPerson: ", because the person deleted it",
		transfer.DeletedByOperator: ", because an operator deleted it"}[s.Get("reason")]
	return "The account " + s.Get("person") + " was erased by " + s.Get("at") + by +
		": its profile, addresses, ways to sign in and mailbox, " + s.Get("received") + " transfers that it had received, " +
		s.Get("files") + " stored files that nobody else had, " + s.Get("receipts") +
		" receipts that named it, and " + s.Get("requests") + " requests. " + s.Get("sent") + " transfers that it had sent lost its address." +
		"\nThis says nothing about what other people have of it, about backups, and about records of mails and changes, which go at their time."
}

// print writes the verdict in words.
func (v verdict) print(w io.Writer) error {
	var b strings.Builder
	for _, f := range v.Files {
		if f.OK {
			fmt.Fprintf(&b, "ok       %s is %s\n", f.Path, f.Name)
		} else if f.Changed {
			fmt.Fprintf(&b, "CHANGED  %s is not the file that was delivered\n", f.Path)
		} else {
			fmt.Fprintf(&b, "REFUSED  %s is no file of this receipt\n", f.Path)
		}
	}
	for _, name := range v.Missing {
		fmt.Fprintf(&b, "not given: %s\n", name)
	}
	if v.Log == "" {
		fmt.Fprintf(&b, "REFUSED: %s\n", v.Error)
	} else {
		for _, l := range v.Statement {
			fmt.Fprintf(&b, "%-15s %s\n", l.Name, l.Value)
		}
		if v.Margin != nil {
			fmt.Fprintf(&b, "\nHanded in %s\n", marginWords(time.Duration(*v.Margin)*time.Millisecond))
		}
		if said := erasureWords(transfer.Statement{Lines: v.Statement}); said != "" {
			fmt.Fprintf(&b, "\n%s\n", said)
		}
		fmt.Fprintf(&b, "\nThe receipt is entry %d of the log %s, in the state of %d entries that %s signed.\n", v.Index, v.Log, v.Size,
			strings.Join(v.SignedBy, ", "))
		for _, s := range v.Witnesses {
			fmt.Fprintf(&b, "Witness: %s\n", s)
		}
		switch {
		case v.StampedAt != nil:
			fmt.Fprintf(&b, "Time stamp: the log had this state on %s, as a service that you trust says.\n", v.StampedAt.UTC().Format(time.RFC3339))
		case v.TimeStamp:
			b.WriteString("It has a time stamp, which was not checked: --tsa-cert FILE with the certificate of the service checks it.\n")
		}
		b.WriteString("It proves what the server recorded. It does not prove who sat at the keyboard; the times are those of the " +
			"server's clock.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
