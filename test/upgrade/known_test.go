package upgrade_test

import (
	"strings"
	"time"
)

// known is what the people of the fixture know: their tokens, keys and links.
type known struct {
	At                          time.Time
	AnnID, BobID                string
	TOTP                        string   // Ann's secret
	Recovery                    []string // Ann's recovery codes
	Delivered                   string   // Sam's transfer to Bob's mailbox
	Unfinished, UnfinishedToken string   // Sam's reservation with 1,000 bytes
	Sent, Link                  string   // Ann's transfer to Eve, with a password
	Confirmation                string   // key in the mail to Cid
}

const (
	linkPassword = "the ferry leaves at nine"
	publicURL    = "http://localhost:8080" // the issuer in the tokens
	size         = "4500"                  // bytes of rays
)

var (
	rays     = strings.Repeat("X-ray 23\n", 500)
	contract = "Agreed: the boat is Eve's.\n"
)
