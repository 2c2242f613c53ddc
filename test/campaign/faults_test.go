//go:build campaign

// Kills the server between upload and delivery, many times.

package campaign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// deliveryRounds is the number of kills; ROUNDS overrides it.
const deliveryRounds = 200

// TestFaults kills the server with SIGKILL at random moments of upload, confirm and delivery. After each restart the client
// resumes at the stored offset. In the end every transfer exists and matches byte for byte, consign fsck finds nothing, each
// transfer was announced, and no Message-ID was used for two different bodies.
func TestFaults(t *testing.T) {
	rounds := number(t, "ROUNDS", deliveryRounds)
	s := newServer(t, "CONSIGN_STRANGER_MAILS_PER_DAY=100000") // each delivery is mailed
	s.start()
	f := &faults{server: s, mails: map[string]string{}}
	for n := range rounds {
		f.round(n)
	}
	f.checkMails(rounds)
	f.checkBytes()
	s.signal(syscall.SIGTERM)
	_ = s.wait()
	fsck := exec.CommandContext(t.Context(), binary(t), "fsck")
	fsck.Env = s.env
	out, err := fsck.CombinedOutput()
	t.Logf("consign fsck: %s", out)
	if err != nil {
		t.Errorf("consign fsck: %v", err)
	}
	t.Logf("%d rounds: killed %d times while uploading, %d while confirming, %d while delivering; %d transfers, %d mails",
		rounds, f.killed[0], f.killed[1], f.killed[2], len(f.sent), len(f.mails))
}

// faults is the state of a campaign.
type faults struct {
	*server
	sent   []delivered
	mails  map[string]string // body by Message-ID
	killed [3]int            // kills by phase
}

// delivered is a transfer with the SHA-256 of each file by its name.
type delivered struct {
	uid  string
	sums map[string]string
}

// parcel is the upload of one round and its progress.
type parcel struct {
	client
	path  string
	files map[string][]byte
	acked map[string]int64
	phase atomic.Int32 // 0 uploading, 1 confirming, 2 confirmed
	uid   string       // of the transfer, once known
}

// round sends a parcel through one kill.
func (f *faults) round(n int) {
	f.t.Helper()
	p, err := f.pack(n)
	if err != nil {
		f.t.Fatalf("round %d: %v", n, err)
	}
	done := make(chan struct{})
	go func() { defer close(done); p.send() }()
	// Kills are spread over the three phases. Uploading takes about 150 ms, the other phases less.
	switch n % 3 {
	case 0:
		time.Sleep(rand.N(150 * time.Millisecond))
	case 1:
		p.await(1, done)
		time.Sleep(rand.N(15 * time.Millisecond))
	default:
		p.await(2, done)
		time.Sleep(rand.N(80 * time.Millisecond))
	}
	phase := p.phase.Load()
	f.killed[phase]++
	f.signal(syscall.SIGKILL)
	_ = f.wait()
	<-done
	f.collect()
	f.start()
	f.finish(n, p, phase)
	f.collect()
}

// pack reserves the demo mailbox and attaches a large and a small file.
func (f *faults) pack(n int) (*parcel, error) {
	p := &parcel{files: map[string][]byte{}, acked: map[string]int64{}}
	for name, size := range map[string]int{"large": 6 << 20, "small": 100_000 + n} {
		data := make([]byte, size)
		random := rand.New(rand.NewPCG(uint64(n), uint64(size)))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		p.files[name] = data
	}
	var out struct{ UID string }
	header, err := client{s: f.server}.call("POST", "/transfer/v2/public/mailbox/demo", map[string]string{
		"subject": fmt.Sprint("round ", n), "anonSender": "Sam", "anonEmail": fmt.Sprintf("sam%d@example.com", n)}, &out)
	if err != nil {
		return nil, err
	}
	p.client = client{s: f.server, token: strings.TrimPrefix(header.Get("Authorization"), "Bearer ")}
	p.path = "/transfer/v2/reservations/" + out.UID
	for name, data := range p.files {
		if _, err := p.call("POST", p.path+"/objects", map[string]any{"clientId": name, "name": name + ".bin", "intendedSize": len(data)},
			nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// send uploads and confirms until the server is gone.
func (p *parcel) send() {
	for name, data := range p.files {
		for at := int64(0); at < int64(len(data)); {
			to := min(at+2<<20, int64(len(data)))
			if err := p.put(name, at, to); err != nil {
				return
			}
			at, p.acked[name] = to, to
		}
	}
	p.phase.Store(1)
	var out struct{ UID string }
	if _, err := p.call("POST", p.path+"/confirm", nil, &out); err != nil {
		return
	}
	p.uid = out.UID
	p.phase.Store(2)
}

// put sends bytes from to to-1 of a file, slowly enough that the server can be killed in the middle.
func (p *parcel) put(name string, from, to int64) error {
	j := job{c: p.client, object: p.path + "/objects/" + name, data: p.files[name]}
	return j.put(from, to, 3*time.Millisecond)
}

// await waits for a phase, or until sending has ended.
func (p *parcel) await(phase int32, done chan struct{}) {
	for p.phase.Load() < phase {
		select {
		case <-done:
			return
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// finish resumes after the restart until the parcel is delivered.
func (f *faults) finish(n int, p *parcel, phase int32) {
	f.t.Helper()
	if p.uid == "" {
		for name, data := range p.files {
			held, err := p.held(p.path + "/objects/" + name)
			if err != nil {
				f.t.Fatalf("round %d, killed in phase %d: %v", n, phase, err)
			}
			if held < p.acked[name] {
				f.t.Fatalf("round %d: %d bytes of %s were acknowledged, %d are held", n, p.acked[name], name, held)
			}
			if held == int64(len(data)) {
				continue
			}
			if err := p.put(name, held, int64(len(data))); err != nil {
				f.t.Fatalf("round %d: %v", n, err)
			}
		}
	}
	// An answered confirm has taken effect. An unanswered one may have; a second confirm then reports it.
	var out struct{ UID string }
	_, err := p.call("POST", p.path+"/confirm", nil, &out)
	switch {
	case err != nil:
		named := confirmed.FindStringSubmatch(err.Error())
		if named == nil {
			f.t.Fatalf("round %d, killed in phase %d: %v", n, phase, err)
		}
		out.UID = named[1]
	case p.uid != "":
		f.t.Fatalf("round %d: the confirm had been answered with transfer %s, and is now with %s", n, p.uid, out.UID)
	}
	if p.uid != "" && p.uid != out.UID {
		f.t.Fatalf("round %d: transfer %s became %s", n, p.uid, out.UID)
	}
	d := delivered{uid: out.UID, sums: map[string]string{}}
	for name, data := range p.files {
		sum := sha256.Sum256(data)
		d.sums[name+".bin"] = hex.EncodeToString(sum[:])
	}
	f.sent = append(f.sent, d)
}

// collect reads every mail that is in the mail directory now.
func (f *faults) collect() {
	f.t.Helper()
	names, err := filepath.Glob(filepath.Join(f.dir, "var", "mail", "*.eml"))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.t.Fatal(err)
		}
		m, err := mail.ReadMessage(bytes.NewReader(raw))
		if err != nil {
			f.t.Fatalf("%s is no mail: %v", filepath.Base(name), err)
		}
		id := m.Header.Get("Message-Id")
		if before, seen := f.mails[id]; seen && before != string(raw) {
			f.t.Fatalf("mail %s was seen with two bodies:\n%s\n----\n%s", id, before, raw)
		}
		f.mails[id] = string(raw)
	}
}

// ofRound matches mails to the uploaders of the rounds; the demo confirms deliveries of its own.
var ofRound = regexp.MustCompile(`(?m)^To: .*\bsam\d+@example\.com`)

// checkMails waits until each transfer was announced to the owner and confirmed to its uploader, once.
func (f *faults) checkMails(rounds int) {
	f.t.Helper()
	deadline := time.Now().Add(5 * time.Minute) // a job is rescued after 2.5 min, plus River's half minute
	for {
		f.collect()
		kinds := map[string]int{}
		for _, raw := range f.mails {
			if strings.Contains(raw, "Subject: Your files have reached") && ofRound.MatchString(raw) {
				kinds["confirmed"]++
			}
			if strings.Contains(raw, "sent you files: round") {
				kinds["announced"]++
			}
		}
		if kinds["confirmed"] == rounds && kinds["announced"] == rounds {
			return
		}
		if time.Now().After(deadline) {
			f.t.Errorf("%d transfers; mails: %v", rounds, kinds)
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// checkBytes downloads everything as its owner.
func (f *faults) checkBytes() {
	f.t.Helper()
	owner, err := f.owner()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, d := range f.sent {
		var out struct{ Objects []struct{ UID, Name string } }
		if _, err := owner.call("GET", "/transfer/v2/transfers/"+d.uid, nil, &out); err != nil {
			f.t.Errorf("lost: %v", err)
			continue
		}
		if len(out.Objects) != len(d.sums) {
			f.t.Errorf("transfer %s has %d objects", d.uid, len(out.Objects))
		}
		for _, o := range out.Objects {
			resp, err := owner.do(f.t.Context(), "GET", "/transfer/v2/transfers/"+d.uid+"/objects/"+o.UID+"/content", nil, http.Header{})
			if err != nil {
				f.t.Fatal(err)
			}
			h := sha256.New()
			_, err = io.Copy(h, resp.Body)
			resp.Body.Close()
			if got := hex.EncodeToString(h.Sum(nil)); err != nil || resp.StatusCode != http.StatusOK || got != d.sums[o.Name] {
				f.t.Errorf("damaged: %s of transfer %s: status %d, SHA-256 %s, sent %s, %v", o.Name, d.uid, resp.StatusCode, got, d.sums[o.Name], err)
			}
		}
	}
}
