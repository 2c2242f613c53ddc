// Package receipt writes a receipt of the transparency log as a document for people, with the signed file attached.
package receipt

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/pdf"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/transfer"
)

const printedPersons = 40 // recipients that a document names

// Receipt is what a document shows.
type Receipt struct {
	Stated  transfer.Statement
	Proof   proof.Proof
	Answers []transfer.Answer   // to the mailbox's form
	File    []byte              // receipt.consign, attached to the document; empty: too large
	Verify  string              // URL of the page that checks the file
	Legible func(string) string // replaces characters that the document's fonts lack
}

// document writes the parts of a Receipt in one language.
type document struct {
	i18n.Printer
	Receipt
}

// Document returns a receipt as a document for people.
func Document(p i18n.Printer, r Receipt) pdf.Document {
	d := document{Printer: p, Receipt: r}
	at := d.moment("confirmed")
	if at.IsZero() {
		at = d.moment("at")
	}
	doc := pdf.Document{
		Locale: d.Locale(), Title: d.T("Signed receipt"), DateLine: d.Time(at, "UTC"), Date: at, Author: d.Stated.Get("host"),
		Footer: d.Stated.Get("host") + " · " + d.Stated.Get("transfer"),
	}
	if d.Stated.Receipt() {
		doc.Parties, doc.Preamble = d.parties(), d.facts()
		doc.Sections = append(doc.Sections, d.answers()...)
		doc.Sections = append(doc.Sections, d.files())
	} else {
		doc.Preamble = d.lines()
	}
	doc.Sections = append(doc.Sections, d.checking())
	if len(d.File) > 0 {
		doc.Attachments = []pdf.Attachment{{Name: proof.FileName, Description: doc.Title, Content: d.File}}
	}
	return doc
}

// moment returns the time in a line of the statement.
func (d document) moment(name string) time.Time {
	at, err := time.Parse(time.RFC3339, d.Stated.Get(name))
	if err != nil {
		return time.Time{}
	}
	return at
}

func (d document) parties() []pdf.Party {
	from := pdf.Party{Role: d.T("From")}
	for _, name := range []string{"sender-name", "sender-email"} {
		if value := d.Stated.Get(name); value != "" {
			from.Lines = append(from.Lines, d.Legible(value))
		}
	}
	if d.Stated.Get("sender-checked") != "yes" {
		from.Lines = append(from.Lines, d.T("address not checked"))
	}
	to := pdf.Party{Role: d.T("To")}
	more := 0
	for _, l := range d.Stated.Lines {
		if l.Name != "recipient" {
			continue
		}
		if len(to.Lines) == printedPersons {
			more++
			continue
		}
		_, person, _ := strings.Cut(l.Value, " ") // without to or cc
		address, name, _ := strings.Cut(person, " ")
		to.Lines = append(to.Lines, d.Legible(strings.TrimPrefix(name+", "+address, ", ")))
	}
	hidden, _ := strconv.Atoi(d.Stated.Get("bcc"))
	if more+hidden > 0 {
		to.Lines = append(to.Lines, "+ "+strconv.Itoa(more+hidden))
	}
	if len(to.Lines) == 0 {
		return []pdf.Party{from}
	}
	return []pdf.Party{from, to}
}

func (d document) facts() []pdf.Block {
	var blocks []pdf.Block
	add := func(label, value string) {
		if value != "" {
			blocks = append(blocks, pdf.Block{Text: label + ": " + value})
		}
	}
	add(d.T("Subject"), d.Legible(d.Stated.Get("subject")))
	add(d.T("Delivered"), d.Time(d.moment("confirmed"), "UTC"))
	add(d.T("Available until"), d.Time(d.moment("expires"), "UTC"))
	count, size, _ := strings.Cut(d.Stated.Get("objects"), " ")
	n, _ := strconv.Atoi(count)
	total, _ := strconv.ParseInt(size, 10, 64)
	add(d.T("Content"), d.N("%d file, %s", "%d files, %s", n, d.Bytes(total)))
	return blocks
}

// lines lists the statement about a later event as it is.
func (d document) lines() []pdf.Block {
	var blocks []pdf.Block
	for _, l := range d.Stated.Lines {
		blocks = append(blocks, pdf.Block{Text: d.Legible(l.Name + " " + l.Value)})
	}
	return blocks
}

func (d document) answers() []pdf.Section {
	if len(d.Answers) == 0 {
		return nil
	}
	s := pdf.Section{Heading: d.T("Answers")}
	for _, a := range d.Answers {
		s.Blocks = append(s.Blocks, pdf.Block{Text: d.Legible(a.Title + ": " + a.Value)})
	}
	return []pdf.Section{s}
}

func (d document) files() pdf.Section {
	s := pdf.Section{Heading: d.T("Files")}
	items := make([]string, len(d.Stated.Objects))
	for i, o := range d.Stated.Objects {
		items[i] = d.Legible(o.Name) + " · " + d.Bytes(o.Size) + "\nSHA-256 " + o.SHA256
	}
	s.Blocks = append(s.Blocks, pdf.Block{Items: items})
	count, _, _ := strings.Cut(d.Stated.Get("objects"), " ")
	if n, err := strconv.Atoi(count); err == nil && n > len(items) {
		s.Blocks = append(s.Blocks, pdf.Block{Text: d.N("and %d more file", "and %d more files", n-len(items))})
	}
	return s
}

// checking says where the proof is and how it is checked.
func (d document) checking() pdf.Section {
	s := pdf.Section{Heading: d.T("How to check this receipt")}
	say := func(text string) { s.Blocks = append(s.Blocks, pdf.Block{Text: text}) }
	if len(d.File) > 0 {
		say(d.F("This document is for reading. The proof is the file receipt.consign, which is attached to it. Check the file at %s or with "+
			"“consign verify”.", d.Verify))
	} else {
		say(d.F("This document is for reading. The proof is the file receipt.consign, which is too large to be attached. Save it separately, "+
			"and check it at %s or with “consign verify”.", d.Verify))
	}
	text, _, _ := bytes.Cut(d.Proof.Checkpoint, []byte("\n\n"))
	if tree, err := proof.ParseCheckpointText(string(text) + "\n"); err == nil {
		say(d.Legible(tree.Origin) + " #" + strconv.FormatInt(d.Proof.Index, 10) + " / " + strconv.FormatInt(tree.N, 10))
	}
	say(d.T("It doesn’t prove who was at the keyboard, or that what the files say is true. Times are this server’s."))
	say(d.F("Characters that this document cannot show are written as their numbers, like %s. The file has them as they are.", "⟨U+0645⟩"))
	return s
}
