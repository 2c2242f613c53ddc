package cli_test

import (
	"net/http"
	"regexp"
	"testing"
)

// TestMailboxThatAsks: a mailbox with a question, a limit and verified senders says before the upload what is missing, and mails a code.
func TestMailboxThatAsks(t *testing.T) {
	t.Parallel()
	s, person, url := ann(t)
	person.Put(s.Transfer+"/mailbox", map[string]any{
		"vanityLink": "dr-ann", "maxFileSizeMb": 1, "verifySender": true,
		"fieldsSchema": map[string]any{"type": "object", "title": "About",
			"properties": map[string]any{"case": map[string]any{"type": "string", "title": "Case number"}}, "required": []string{"case"}},
	}).Want(http.StatusOK)
	sam := newDesk(t)
	small, large := sam.write("small.bin", random(10, 1)), sam.write("large.bin", random(1_000_001, 2))
	sam.refused(2, "Case number  (required)", send(url, small)...)
	sam.refused(2, "does not ask this", send(url, small, "--field", "case=7", "--field", "colour=red")...)
	sam.refused(1, "up to 1 MB", send(url, large, "--field", "case=7")...)

	command := send(url, small, "--field", "case=7")
	sam.refused(2, "--code CODE", command...)
	code := regexp.MustCompile(`\b\d{6}\b`).FindString(s.Mail.Wait(t, "sam@example.com", "", 1).Text)
	sam.do(append(command, "--code", code)...)
	got := person.Get(s.Transfer + "/transfers?location=received").Want(http.StatusOK)
	if got.String("transfers.0.fields.case") != "7" || got.Value("transfers.0.sender.verified") != true {
		t.Errorf("%s", got.Body)
	}
}
