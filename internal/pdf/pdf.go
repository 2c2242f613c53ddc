// Package pdf turns a Document, which is plain data, into the bytes of a PDF file: A4, set in lines and pages, with
// numbered sections, signature lines and page numbers. It owns layout and fonts, and knows neither what a document is
// about nor which language it is in beyond what fonts and line breaks need: every word comes from the caller.
//
// The same Document gives the same bytes. Fonts are chosen for each character by what they cover, and a character that
// none of them covers is an error, because a PDF would show an empty box in its place.
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

// Document is what is to be printed. All texts are in reading order from left to right; a line feed in one starts a
// new line. Empty members are left out.
type Document struct {
	Locale     string // such as "de_DE" or "zh-TW": language of the file, preference among fonts, spacing of lines
	Title      string // required
	Subtitle   string
	DateLine   string    // the date as it is printed under the title, in the document's language
	Date       time.Time // required: the date that the file says it was created at
	Author     string    // of the file's metadata; not printed
	Header     string    // at the top of every page, cut to one line
	Footer     string    // at the bottom of every page, cut to two lines
	PageNumber string    // such as "Page {page} of {pages}", which is also what empty means without its words: "1 / 2"

	Parties          []Party // side by side, two in a row
	Preamble         []Block // before the first section
	Sections         []Section
	NumberParagraphs bool    // paragraphs of a section are numbered 1.1, 1.2 …
	Closing          []Block // before the signatures
	Signatures       []Signature
	Annexes          []Section // after the signatures, without numbers, each on a page of its own
}

// Party is one of those who agree. The first of its lines, the name, is set in bold.
type Party struct {
	Role  string
	Lines []string
}

// Section is a heading and what stands under it. Sections are numbered from 1.
type Section struct {
	Heading string
	Blocks  []Block
}

// Block is a paragraph, a list, or a paragraph that leads into a list.
type Block struct {
	Text     string
	Items    []string
	Lettered bool // items are (a), (b) … and can be cited; otherwise they have bullets
}

// Signature is a column of lines to write on, with what belongs there under each.
type Signature struct {
	Party  string
	Labels []string
}

// GlyphError is a text with characters that no font can print, or that need what this package does not do: text
// written from right to left, and control characters.
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

// The reasons for which a Document is refused without looking at its fonts.
var (
	ErrNoTitle  = errors.New("the document has no title")
	ErrNoDate   = errors.New("the document has no date")
	ErrEncoding = errors.New("a text of the document is not UTF-8")
)

// Options bounds a Renderer.
type Options struct {
	MaxParallel int // documents rendered at once; 0: all cores but one, at least one
}

// Renderer renders documents, few at a time. It is safe for concurrent use.
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

// Missing returns the characters of text that cannot be printed, each once, for a check before anything is stored.
func (r *Renderer) Missing(text string) []rune {
	_, missing := newTypesetter(embedded(), "").shape(text, body)
	return missing
}

// Render returns the PDF file of doc. Errors: ErrNoTitle, ErrNoDate, ErrEncoding, *GlyphError, and that of ctx when it
// ends before the turn comes.
func (r *Renderer) Render(ctx context.Context, doc Document) ([]byte, error) {
	switch {
	case strings.TrimSpace(doc.Title) == "":
		return nil, ErrNoTitle
	case doc.Date.IsZero():
		return nil, ErrNoDate
	}
	release, err := r.semaphore.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait for a turn to render a document: %w", err)
	}
	defer release()
	l := newLayout(newTypesetter(embedded(), doc.Locale))
	l.document(doc)
	if l.err != nil {
		return nil, fmt.Errorf("lay out %q: %w", doc.Title, l.err)
	}
	file, err := write(doc, l.pages)
	if err != nil {
		return nil, fmt.Errorf("write %q: %w", doc.Title, err)
	}
	return file, nil
}

// validText reports whether a text can be looked at rune by rune.
func validText(s string) bool { return utf8.ValidString(s) }
