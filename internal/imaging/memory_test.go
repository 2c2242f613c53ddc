// Tests of the memory that hostile pictures take.

package imaging_test

import (
	"bytes"
	"fmt"
	"image"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/imaging"
)

// Pictures that use memory in different ways: two of the largest allowed size, the others of six megapixels. Under the
// race detector, which multiplies time and memory, all are far smaller.
var giants = map[string]func() []byte{
	"50 MP JPEG 4:2:0 progressive": func() []byte { return flatJPEG(8660/shrink, 5770/shrink, []byte{9, 99, 199}, 0x22, true, 9) },
	"50 MP PNG interlaced":         func() []byte { return rawPNG(7070/shrink, 7070/shrink, 7070, 8, 6, 1) },
	"50 MP PNG of one line":        func() []byte { return rawPNG(49_999_999/shrink/shrink, 1, 1, 1, 0, 0) },
	"JPEG 4:2:0":                   func() []byte { return flatJPEG(3000/shrink, 2000/shrink, []byte{9, 99, 199}, 0x22, false, 0) },
	"JPEG 4:4:4 progressive":       func() []byte { return flatJPEG(3000/shrink, 2000/shrink, []byte{9, 99, 199}, 0x11, true, 9) },
	"JPEG CMYK":                    func() []byte { return flatJPEG(3000/shrink, 2000/shrink, []byte{9, 99, 199, 220}, 0x11, false, 0) },
	"JPEG CMYK progressive":        func() []byte { return flatJPEG(3000/shrink, 2000/shrink, []byte{9, 99, 199, 220}, 0x11, true, 9) },
	"PNG grey 16 bit":              func() []byte { return rawPNG(3000/shrink, 2000/shrink, 2000, 16, 0, 0) },
	"PNG 16 bit interlaced":        func() []byte { return rawPNG(3000/shrink, 2000/shrink, 2000, 16, 6, 1) },
}

// TestMemory makes avatars of large pictures one by one, each in a separate process, which reports the allocated bytes and
// the peak resident size. They must not exceed the reserved memory of the picture and the limit of the Processor.
func TestMemory(t *testing.T) {
	t.Parallel()
	if name := os.Getenv("IMAGING_GIANT"); name != "" {
		digest(t, name)
		return
	}
	for name := range giants {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemory$", "-test.v")
		cmd.Env = append(os.Environ(), "IMAGING_GIANT="+name)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		found := regexp.MustCompile(`cost=(\d+) allocated=(\d+) peak=(\d+) took=(\S+)`).FindSubmatch(out)
		if found == nil {
			t.Fatalf("%s: no report in %s", name, out)
		}
		cost, _ := strconv.Atoi(string(found[1]))
		allocated, _ := strconv.Atoi(string(found[2]))
		peak, _ := strconv.Atoi(string(found[3]))
		t.Logf("%-28s set aside %4d MB, allocated %4d MB, peak resident %4d MB, %s", name, cost>>20, allocated>>20, peak>>20, found[4])
		if allocated > cost-28<<20 { // the steps after decoding take 20 MB here, less than baseCost
			t.Errorf("%s: %d bytes allocated, %d set aside", name, allocated, cost)
		}
		if shrink == 1 && peak > cost+16<<20 { // the program itself, and the file
			t.Errorf("%s: %d bytes resident at the peak", name, peak)
		}
	}
}

func digest(t *testing.T, name string) {
	file := giants[name]()
	cost, err := imaging.Cost(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	avatars, err := imaging.New(imaging.Options{MaxPixels: maxPixels}).Avatar(t.Context(), bytes.NewReader(file))
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	checkAvatars(t, avatars)
	fmt.Printf("cost=%d allocated=%d peak=%d took=%s\n", cost, after.TotalAlloc-before.TotalAlloc, resident(), took.Round(time.Millisecond))
}

// resident returns the peak resident size of this process in bytes, or 0 when the system does not report it.
func resident() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return kib << 10
}

// BenchmarkAvatar measures a photograph of 12 megapixels, as phones take them.
func BenchmarkAvatar(b *testing.B) {
	noise := image.NewYCbCr(image.Rect(0, 0, 4000, 3000), image.YCbCrSubsampleRatio420)
	for i := range noise.Y {
		noise.Y[i] = uint8(i*i>>7 + i)
	}
	file := encodeJPEG(b, noise)
	p := imaging.New(imaging.Options{MaxPixels: maxPixels})
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Avatar(b.Context(), bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
	}
}
