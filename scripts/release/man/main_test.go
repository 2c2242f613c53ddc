package main

import (
	"strings"
	"testing"
)

// TestManual: each command that help lists has a page, which is dated by SOURCE_DATE_EPOCH and has addresses as people type them.
func TestManual(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1793491200")
	pages, err := manual()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "-send", "-receive", "-verify", "-token", "-token-create", "-completion-bash"} {
		page := string(pages["consign-client"+name+".1"])
		if !strings.Contains(page, "Nov 2026") || !strings.Contains(page, ".SH SYNOPSIS") {
			t.Errorf("consign-client%s.1 is %.200q", name, page)
		}
	}
	if page := string(pages["consign-client-send.1"]); !strings.Contains(page, "<sam@example.com>") {
		t.Errorf("consign-client-send.1 has no address of a sender: %s", page)
	}
	for name, page := range pages {
		if strings.Contains(string(page), "mailto:") {
			t.Errorf("%s has a link where a person types an address", name)
		}
	}
}
