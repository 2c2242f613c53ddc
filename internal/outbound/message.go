package outbound

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"time"
)

// secretBytes is the length of a signing key.
const secretBytes = 32

// NewSecret returns a signing key in the text form of Standard Webhooks.
func NewSecret() string {
	key := make([]byte, secretBytes)
	rand.Read(key) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
}

// Event is what a message reports.
type Event struct {
	Kind      string
	UID       string // of the event in the feeds
	Subject   string
	Receivers []string // persons; at most 100 are named
	At        time.Time
}

type eventJSON struct {
	UID       string   `json:"uid"`
	Subject   string   `json:"subject"`
	Receivers []string `json:"receivers"`
}

type messageJSON struct {
	Type      string    `json:"type"`
	Timestamp string    `json:"timestamp"`
	Data      eventJSON `json:"data"`
}

// Body returns the JSON of a message. It is the same at each attempt.
func Body(e Event) ([]byte, error) {
	if e.Receivers == nil {
		e.Receivers = []string{}
	}
	body, err := json.Marshal(messageJSON{e.Kind, e.At.UTC().Format("2006-01-02T15:04:05.000+00:00"),
		eventJSON{e.UID, e.Subject, e.Receivers}})
	if err != nil {
		return nil, fmt.Errorf("encode webhook message: %w", err)
	}
	return body, nil
}

// delays are the pauses after failed attempts. The last attempt is three days after the first.
var delays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour,
	21 * time.Hour,
}

// Retry returns the pause after the failure of an attempt, which counts from 1, with up to 10 % jitter, and at least as long as the
// receiver asks for. ok is false after the last attempt.
func Retry(attempt int, asked time.Duration) (pause time.Duration, ok bool) {
	if attempt < 1 || attempt > len(delays) {
		return 0, false
	}
	pause = delays[attempt-1]
	jitter, err := rand.Int(rand.Reader, big.NewInt(int64(pause/10)))
	if err == nil {
		pause += time.Duration(jitter.Int64())
	}
	return max(pause, min(asked, delays[len(delays)-1])), true
}
