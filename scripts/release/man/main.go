// Command man writes a manual page for each client command into a directory. Their date is SOURCE_DATE_EPOCH.
package main

import (
	"bytes"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/consign-dev/consign/internal/cli"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: man DIRECTORY")
	}
	pages, err := manual()
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// autolink is what the generator of pages makes of an address in angle brackets.
var autolink = regexp.MustCompile(`([^\s']+@\S+)\n\\\[la\]mailto:[^\\]+\\\[ra\]\\&`)

// manual returns the pages by their file names.
func manual() (map[string][]byte, error) {
	p := &cli.Program{Name: "consign-client", Version: "", Stdout: io.Discard, Stderr: io.Discard}
	root := p.Command()
	root.InitDefaultCompletionCmd()
	pages := map[string][]byte{}
	return pages, addPages(pages, root)
}

// addPages adds the page of a command and those of its subcommands.
func addPages(pages map[string][]byte, c *cobra.Command) error {
	var b bytes.Buffer
	if err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Source: "Consign", Manual: "Consign"}, &b); err != nil {
		return err
	}
	pages[strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"] = autolink.ReplaceAll(b.Bytes(), []byte("<$1>"))
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := addPages(pages, sub); err != nil {
				return err
			}
		}
	}
	return nil
}
