// What commands show on a terminal: progress, tables, questions, QR codes and sizes.

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/boombuler/barcode/qr"
	"golang.org/x/term"
)

// terminal returns the file descriptor of a terminal behind w or r.
func terminal(stream any) (fd int, ok bool) {
	f, is := stream.(*os.File)
	if !is || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

// notice returns a function that prints a line to people: to Stderr.
func (p *Program) notice() func(format string, values ...any) {
	_, clears := terminal(p.Stderr)
	return func(format string, values ...any) {
		lead := ""
		if clears {
			lead = "\r\x1b[K" // over a progress bar
		}
		fmt.Fprint(p.Stderr, lead+printable(fmt.Sprintf(format, values...))+"\n")
	}
}

// emit prints a result as a line of JSON.
func (p *Program) emit(value any) error { return json.NewEncoder(p.Stdout).Encode(value) }

// table prints aligned columns.
func (p *Program) table(rows [][]string) error {
	t := tabwriter.NewWriter(p.Stdout, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
		if _, err := fmt.Fprintln(t, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// ask asks the person at the terminal for a line. secret does not show it. A program without a terminal gets usage as an error.
func (p *Program) ask(question string, secret bool, usage string) (string, error) {
	fd, ok := terminal(p.Stdin)
	if !ok {
		return "", usageError(usage)
	}
	fmt.Fprint(p.Stderr, question+" ")
	if secret {
		line, err := term.ReadPassword(fd)
		fmt.Fprintln(p.Stderr)
		return string(line), err
	}
	line, err := bufio.NewReader(p.Stdin).ReadString('\n')
	return strings.TrimSpace(line), err
}

// showQR draws a QR code with half blocks, dark on light, with a quiet zone of two modules.
func showQR(w io.Writer, content string) error {
	code, err := qr.Encode(content, qr.M, qr.Auto)
	if err != nil {
		return err
	}
	size := code.Bounds().Dx()
	dark := func(x, y int) bool {
		if x < 0 || y < 0 || x >= size || y >= size {
			return false
		}
		r, _, _, _ := code.At(x, y).RGBA()
		return r == 0
	}
	var b strings.Builder
	for y := -2; y < size+2; y += 2 {
		b.WriteString("\x1b[38;2;0;0;0;48;2;255;255;255m")
		for x := -2; x < size+2; x++ {
			switch top, bottom := dark(x, y), dark(x, y+1); {
			case top && bottom:
				b.WriteRune('█')
			case top:
				b.WriteRune('▀')
			case bottom:
				b.WriteRune('▄')
			default:
				b.WriteRune(' ')
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// progress shows how far several files are: a bar that is redrawn on a terminal, else a line every ten seconds.
type progress struct {
	p     *Program
	verb  string
	total int64
	bar   bool

	mu      sync.Mutex
	held    map[int]int64
	sum     int64
	begun   int64 // bytes that were there before
	started time.Time
	drawn   time.Time
	tick    time.Duration
}

func (p *Program) progress(verb string, total int64) *progress {
	_, bar := terminal(p.Stderr)
	g := &progress{p: p, verb: verb, total: total, bar: bar, held: map[int]int64{}, started: time.Now(), drawn: time.Now(),
		tick: 10 * time.Second}
	if bar {
		g.tick = 100 * time.Millisecond
	}
	return g
}

// begin records what file i has before the work.
func (g *progress) begin(i int, held int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sum += held - g.held[i]
	g.begun += held - g.held[i]
	g.held[i] = held
}

// set records that file i has held bytes.
func (g *progress) set(i int, held int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sum += held - g.held[i]
	g.held[i] = held
	if now := time.Now(); now.Sub(g.drawn) >= g.tick && !g.p.json && !g.p.quiet {
		g.drawn = now
		g.draw()
	}
}

// draw prints the state. The caller holds mu.
func (g *progress) draw() {
	rate := float64(g.sum-g.begun) / max(time.Since(g.started).Seconds(), 0.001)
	share := 1.0
	if g.total > 0 {
		share = min(float64(g.sum)/float64(g.total), 1)
	}
	left := ""
	if rate > 1 {
		left = ", " + (time.Duration(float64(g.total-g.sum)/rate) * time.Second).String() + " left"
	}
	text := fmt.Sprintf("%s %3.0f %%  %s of %s  %s/s%s", g.verb, share*100, size(g.sum), size(g.total), size(int64(rate)), left)
	if !g.bar {
		fmt.Fprintln(g.p.Stderr, text)
		return
	}
	width := 80
	if fd, ok := terminal(g.p.Stderr); ok {
		if w, _, err := term.GetSize(fd); err == nil {
			width = w
		}
	}
	if room := width - len(text) - 4; room >= 10 {
		full := int(share * float64(room))
		text = "[" + strings.Repeat("#", full) + strings.Repeat(".", room-full) + "] " + text
	} else if len(text) >= width {
		text = text[:max(width-1, 0)]
	}
	fmt.Fprint(g.p.Stderr, "\r\x1b[K"+text)
}

// end removes the bar.
func (g *progress) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bar && !g.p.json && !g.p.quiet {
		fmt.Fprint(g.p.Stderr, "\r\x1b[K")
	}
}

// size prints a number of bytes.
func size(n int64) string {
	value, units := float64(n), []string{"B", "kB", "MB", "GB", "TB"}
	for value >= 999.5 && len(units) > 1 {
		value, units = value/1000, units[1:]
	}
	if value < 10 && units[0] != "B" {
		return fmt.Sprintf("%.1f %s", value, units[0])
	}
	return fmt.Sprintf("%.0f %s", value, units[0])
}
