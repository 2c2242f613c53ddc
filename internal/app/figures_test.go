package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/config"
)

// TestStrangerFigures computes from the defaults what one stranger who sends 1 kB a second can occupy, and compares the table in
// docs/develop/threat-model.md with it. Each of the parallel uploads of a client network reserves one window ahead of what arrived.
func TestStrangerFigures(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"CONSIGN_DATA_DIR=" + t.TempDir()}) // the key is made there
	if err != nil {
		t.Fatal(err)
	}
	const rate, gb = 1_000, 1e9
	share := func(n int) int { return n * c.StrangerShare / 100 }
	arrived := rate * c.ReservationLifetime.Seconds()
	reserved := float64(c.NetworkUploads) * float64(c.UploadWindowMB) * 1e6
	mailbox := min(arrived+reserved, float64(share(c.StrangerUnconfirmedGB))*gb)
	organization := min(arrived+reserved, float64(share(c.StrangerOrganizationUnconfirmedGB))*gb)
	text := readText(t, "docs/develop/threat-model.md")
	for _, row := range []string{
		fmt.Sprintf("| volume of a mailbox's owner, of %d GB | %.2f GB |", c.UploadVolumeGB, mailbox/gb),
		fmt.Sprintf("| volume of an organization | %.2f GB |", organization/gb),
		fmt.Sprintf("| disk | %.2f GB |", arrived/gb),
		fmt.Sprintf("| open reservations at a mailbox | %d of %d |", share(c.StrangerReservations), c.StrangerReservations),
		fmt.Sprintf("| open reservations at an organization | %d of %d |", share(c.StrangerOrganizationReservations),
			c.StrangerOrganizationReservations),
	} {
		if !strings.Contains(text, row+"\n") {
			t.Errorf("docs/develop/threat-model.md lacks the row %s", row)
		}
	}
}
