// Package receipt writes a receipt of the transparency log as a document for people, with the signed file attached.
package receipt

import (
	"bytes"
	"cmp"
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
	Answers []transfer.Answer // to the mailbox's form
	File    []byte            // receipt.consign, attached to the document; empty: too large
	Verify  string            // URL of the page that checks the file
	Brand   pdf.Brand
	Checked time.Time // when the sender's address was checked after the delivery; zero: it was not
}

// document writes the parts of a Receipt in one language.
type document struct {
	i18n.Printer
	Receipt
}

// Document returns a receipt as a document for people.
func Document(p i18n.Printer, r Receipt) pdf.Document {
	d := document{Printer: p, Receipt: r}
	at := d.Stated.Time("confirmed")
	if at.IsZero() {
		at = d.Stated.Time("at")
	}
	sheet := &pdf.Sheet{Brand: d.Brand, QR: d.Verify, Sealed: true, Notes: d.checking(),
		Boxes: d.T("□ stands for a character that this document cannot show. The file receipt.consign has it as it is.")}
	if d.Stated.Receipt() {
		sheet.Lead, sheet.Parties, sheet.Facts, sheet.Table = d.lead(), d.parties(), append(d.facts(), d.answers()...), d.files()
	} else {
		sheet.Facts = d.lines()
	}
	doc := pdf.Document{
		Locale: d.Locale(), Title: d.T("Signed receipt"), DateLine: d.Time(at, "UTC"), Date: at, Author: d.Stated.Get("host"),
		Footer: d.Stated.Get("host") + " · " + cmp.Or(d.Stated.Get("transfer"), d.Stated.Get("person")), Sheet: sheet,
	}
	if len(d.File) > 0 {
		doc.Attachments = []pdf.Attachment{{Name: proof.FileName, Description: doc.Title, Content: d.File}}
	}
	return doc
}

// lead says what the document proves, in one sentence.
func (d document) lead() string {
	var to []string
	for _, l := range d.Stated.Lines {
		if l.Name == "recipient" {
			to = append(to, l.Value)
		}
	}
	if len(to) != 1 || d.Stated.Get("bcc") != "" {
		return d.T("It proves that exactly these files were delivered, by whom, and when.")
	}
	_, person, _ := strings.Cut(to[0], " ") // without to or cc
	address, name, _ := strings.Cut(person, " ")
	return d.F("It proves that exactly these files were delivered to %s, by whom, and when.", cmp.Or(name, address))
}

func (d document) parties() []pdf.Party {
	from := pdf.Party{Role: d.T("From")}
	for _, name := range []string{"sender-name", "sender-email"} {
		if value := d.Stated.Get(name); value != "" {
			from.Lines = append(from.Lines, value)
		}
	}
	switch {
	case d.Stated.Get("sender-checked") == "yes":
	case d.Checked.IsZero():
		from.Lines = append(from.Lines, d.T("address not checked"))
	default:
		from.Lines = append(from.Lines, d.F("address checked later, on %s", d.Time(d.Checked, "UTC")))
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
		to.Lines = append(to.Lines, strings.TrimPrefix(name+", "+address, ", "))
	}
	hidden, _ := strconv.Atoi(d.Stated.Get("bcc"))
	if more+hidden > 0 {
		to.Lines = append(to.Lines, "+ "+strconv.Itoa(more+hidden))
	}
	switch len(to.Lines) {
	case 0:
		return []pdf.Party{from}
	case 1:
		if i := strings.LastIndex(to.Lines[0], ", "); i >= 0 { // name and address, as the sender has them
			to.Lines = []string{to.Lines[0][:i], to.Lines[0][i+2:]}
		}
	}
	return []pdf.Party{from, to}
}

func (d document) facts() []pdf.Fact {
	var facts []pdf.Fact
	add := func(label, value string) {
		if value != "" {
			facts = append(facts, pdf.Fact{Label: label, Value: value})
		}
	}
	add(d.T("Subject"), d.Stated.Get("subject"))
	add(d.T("Delivered"), d.Time(d.Stated.Time("confirmed"), "UTC"))
	add(d.T("Available until"), d.Time(d.Stated.Time("expires"), "UTC"))
	count, size, _ := strings.Cut(d.Stated.Get("objects"), " ")
	n, _ := strconv.Atoi(count)
	total, _ := strconv.ParseInt(size, 10, 64)
	add(d.T("Content"), d.N("%d file, %s", "%d files, %s", n, d.Bytes(total)))
	return facts
}

// lines lists the statement about a later event as it is.
func (d document) lines() []pdf.Fact {
	var facts []pdf.Fact
	for _, l := range d.Stated.Lines {
		facts = append(facts, pdf.Fact{Label: l.Name, Value: l.Value})
	}
	return facts
}

func (d document) answers() []pdf.Fact {
	var facts []pdf.Fact
	for _, a := range d.Answers {
		facts = append(facts, pdf.Fact{Label: a.Title, Value: a.Value})
	}
	return facts
}

func (d document) files() pdf.Table {
	t := pdf.Table{Heading: d.T("File"), Size: d.T("Size")}
	for _, o := range d.Stated.Objects {
		t.Rows = append(t.Rows, pdf.Row{Name: o.Name, Size: d.Bytes(o.Size), Small: "SHA-256 " + o.SHA256})
	}
	count, _, _ := strings.Cut(d.Stated.Get("objects"), " ")
	if n, err := strconv.Atoi(count); err == nil && n > len(t.Rows) {
		t.More = d.N("and %d more file", "and %d more files", n-len(t.Rows))
	}
	return t
}

// checking says where the proof is, how it is checked, and what it does not prove.
func (d document) checking() []pdf.Note {
	how := pdf.Note{Heading: d.T("How to check this receipt")}
	if len(d.File) > 0 {
		how.Text = d.F("This document is for reading. The proof is the file receipt.consign, which is attached to it. "+
			"Check the file at %s or with “consign verify”.", d.Verify)
	} else {
		how.Text = d.F("This document is for reading. The proof is the file receipt.consign, which is too large to be attached. "+
			"Save it separately, and check it at %s or with “consign verify”.", d.Verify)
	}
	notes := []pdf.Note{how}
	text, _, _ := bytes.Cut(d.Proof.Checkpoint, []byte("\n\n"))
	if tree, err := proof.ParseCheckpointText(string(text) + "\n"); err == nil {
		notes = append(notes, pdf.Note{Text: tree.Origin + " #" + strconv.FormatInt(d.Proof.Index, 10) + " / " + strconv.FormatInt(tree.N, 10)})
	}
	return append(notes, pdf.Note{
		Text: d.T("It doesn’t prove who was at the keyboard, or that what the files say is true. Times are this server’s."),
	})
}
