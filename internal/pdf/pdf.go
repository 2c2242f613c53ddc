// Package pdf renders a Document, which is plain data, as an A4 PDF file with numbered sections, signature lines and page
// numbers. It owns layout and fonts. All text comes from the caller.
//
// The same Document gives the same bytes. The font is chosen for each character. A character that no font covers is an
// error, because the PDF would show an empty box.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/ratelimit"
)

// Document is the content of a PDF file. Texts are written from left to right; a line feed starts a new line. Empty
// members are left out.
type Document struct {
	Locale     string // such as "de_DE" or "zh-TW"; sets the language of the file, the order of fonts, and line spacing
	Title      string // required
	Subtitle   string
	DateLine   string    // printed under the title
	Date       time.Time // required; creation date in the metadata
	Author     string    // in the metadata only
	Header     string    // at the top of every page, cut to one line
	Footer     string    // at the bottom of every page, cut to two lines
	PageNumber string    // such as "Page {page} of {pages}"; empty: "{page} / {pages}"

	Parties          []Party // side by side, two in a row
	Preamble         []Block // before the first section
	Sections         []Section
	NumberParagraphs bool    // paragraphs of a section are numbered 1.1, 1.2 …
	Closing          []Block // before the signatures
	Signatures       []Signature
	Annexes          []Section // after the signatures, without numbers, each on a new page

	Sheet *Sheet // instead of all from Parties to Annexes

	Attachments []Attachment
}

// Attachment is a file within the PDF file.
type Attachment struct {
	Name, Description string
	Content           []byte
}

// Party is a party to the agreement. Its first line, the name, is bold.
type Party struct {
	Role  string
	Lines []string
}

// Section is a heading with its blocks. Sections are numbered from 1.
type Section struct {
	Heading string
	Blocks  []Block
}

// Block is a paragraph, a list, or a paragraph followed by its list.
type Block struct {
	Text     string
	Items    []string
	Lettered bool // items are (a), (b) …; otherwise they have bullets
}

// Signature is a column of lines to write on, with a label under each.
type Signature struct {
	Party  string
	Labels []string
}

// GlyphError is the error for a text with characters that cannot be printed: no font has them, they are written from right
// to left, or they are control characters.
type GlyphError struct {
	Text  string // the paragraph or line that holds them
	Runes []rune // each once, in order of appearance
}

// Error implements error.
func (e *GlyphError) Error() string {
	names := make([]string, len(e.Runes))
	for i, r := range e.Runes {
		names[i] = fmt.Sprintf("%U", r)
	}
	text := e.Text
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return fmt.Sprintf("no font prints %s in %q", strings.Join(names, ", "), text)
}

// Errors of an invalid Document.
var (
	ErrNoTitle  = errors.New("the document has no title")
	ErrNoDate   = errors.New("the document has no date")
	ErrEncoding = errors.New("a text of the document is not UTF-8")
)

// Options limits a Renderer.
type Options struct {
	MaxParallel int // documents rendered in parallel; 0: all cores but one, at least one
}

// Renderer renders documents. It limits the documents rendered in parallel, and is safe for concurrent use.
type Renderer struct {
	semaphore *ratelimit.Semaphore
}

// New returns a Renderer.
func New(o Options) *Renderer {
	if o.MaxParallel <= 0 {
		o.MaxParallel = max(1, runtime.GOMAXPROCS(0)-1)
	}
	return &Renderer{semaphore: ratelimit.NewSemaphore(o.MaxParallel)}
}

// Missing returns the characters of text that cannot be printed, each once. It is for checks before a text is stored.
func (r *Renderer) Missing(text string) []rune {
	_, missing := newTypesetter(embedded(), "").shape(text, body)
	return missing
}

// Render returns the PDF file of doc.
// Errors: ErrNoTitle, ErrNoDate, ErrEncoding, *GlyphError, and the error of ctx when
// it ends while waiting for the semaphore.
func (r *Renderer) Render(ctx context.Context, doc Document) ([]byte, error) {
	switch {
	case strings.TrimSpace(doc.Title) == "":
		return nil, ErrNoTitle
	case doc.Date.IsZero():
		return nil, ErrNoDate
	}
	release, err := r.semaphore.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait to render a document: %w", err)
	}
	defer release()
	l := newLayout(newTypesetter(embedded(), doc.Locale))
	if doc.Sheet != nil {
		l = newLayout(newSheetTypesetter(embedded(), doc.Locale))
		l.sheet(doc)
	} else {
		l.document(doc)
	}
	if l.err != nil {
		return nil, fmt.Errorf("lay out %q: %w", doc.Title, l.err)
	}
	file, err := write(doc, l.pages)
	if err != nil {
		return nil, fmt.Errorf("write %q: %w", doc.Title, err)
	}
	return file, nil
}

// validText reports whether a text is UTF-8.
func validText(s string) bool { return utf8.ValidString(s) }
