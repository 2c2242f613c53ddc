// Package probe is the question of consign doctor to the server at the public URL: how did this request arrive? Only who has the
// secret key can ask, and the answer proves that the server has the same key.
package probe

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/seal"
)

const (
	// Path is where a server answers.
	Path = "/.well-known/consign-probe"
	// Header carries the question.
	Header = "Consign-Probe"
	// MaxBody bounds the body that a question may have, in bytes.
	MaxBody = 8 << 20

	// window is how far the clocks of both sides may differ. It is wide so that doctor can tell by how much they do. A question that
	// somebody repeats only tells how the repetition arrived.
	window = 24 * time.Hour
)

// Answer says how a request arrived.
type Answer struct {
	Proof          string   `json:"proof"`
	Peer           string   `json:"peer"`    // address of the connection
	Trusted        bool     `json:"trusted"` // the peer is a trusted proxy
	Address        string   `json:"address"` // the client's address, as rate limits and the audit use it
	Host           string   `json:"host"`
	HTTPS          bool     `json:"https"`
	ForwardedFor   []string `json:"forwardedFor"` // headers as they arrived
	ForwardedHost  []string `json:"forwardedHost"`
	ForwardedProto []string `json:"forwardedProto"`
	Origin         string   `json:"origin"`
	Received       int64    `json:"received"`  // bytes of the body
	OpenFiles      uint64   `json:"openFiles"` // limit of the server's process; 0: unknown
	// MemoryUsed and MemoryLimit are those of Memory.
	MemoryUsed  int64     `json:"memoryUsed"`
	MemoryLimit int64     `json:"memoryLimit"`
	Time        time.Time `json:"time"`
	// Settings has a mark of each setting of the server by name: MACs under the secret key, so that they show to nobody else what is set.
	Settings map[string]string `json:"settings"`
}

// Question returns a new question.
func Question(s *seal.Sealer, now time.Time) string {
	nonce := seal.NewKey()
	asked := strconv.FormatInt(now.Unix(), 10) + "." + nonce
	return asked + "." + encode(s.MAC("doctor question", []byte(asked)))
}

// Valid reports whether the question comes from somebody with the secret key, at about this time.
func Valid(s *seal.Sealer, question string, now time.Time) bool {
	end := strings.LastIndexByte(question, '.')
	if end < 0 || len(question) > 200 {
		return false
	}
	mac, err := base64.RawURLEncoding.DecodeString(question[end+1:])
	if err != nil || !s.CheckMAC(mac, "doctor question", []byte(question[:end])) {
		return false
	}
	seconds, _, _ := strings.Cut(question, ".")
	asked, err := strconv.ParseInt(seconds, 10, 64)
	return err == nil && now.Sub(time.Unix(asked, 0)).Abs() < window
}

// Proof returns what shows that the answer to the question comes from a server with the secret key.
func Proof(s *seal.Sealer, question string) string {
	return encode(s.MAC("doctor answer", []byte(question)))
}

// Proves checks the proof of an answer.
func Proves(s *seal.Sealer, question, proof string) bool {
	mac, err := base64.RawURLEncoding.DecodeString(proof)
	return err == nil && s.CheckMAC(mac, "doctor answer", []byte(question))
}

// Mark returns what stands for the value of a setting in Answer.Settings.
func Mark(s *seal.Sealer, name, value string) string {
	return encode(s.MAC("doctor setting", []byte(name), []byte(value))[:9])
}

func encode(mac []byte) string { return base64.RawURLEncoding.EncodeToString(mac) }
