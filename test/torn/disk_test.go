package main

import (
	"bytes"
	"testing"
)

// TestPowerCut checks that flushed bytes outlive each cut, and that of later writes some are kept, some lost, and some torn.
func TestPowerCut(t *testing.T) {
	d, err := newDisk(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(at int64, b byte) {
		t.Helper()
		_, err := d.write(bytes.Repeat([]byte{b}, 4096), at)
		must(err)
	}
	read := func(at int64) []byte {
		t.Helper()
		b := make([]byte, 4096)
		_, err := d.read(b, at)
		must(err)
		return b
	}
	old, whole := bytes.Repeat([]byte{1}, 4096), bytes.Repeat([]byte{2}, 4096)
	kept, lost, torn := 0, 0, 0
	for range 20 {
		for n := range int64(20) {
			write(n*4096, 1)
		}
		must(d.flush())
		for n := range int64(10) {
			write(n*4096, 2)
		}
		must(d.lose())
		write(11*4096, 3)
		must(d.flush())
		must(d.restore())
		for n := range int64(10) {
			switch got := read(n * 4096); {
			case bytes.Equal(got, whole):
				kept++
			case bytes.Equal(got, old):
				lost++
			default:
				torn++
			}
		}
		for n := range int64(10) {
			if got := read((n + 10) * 4096); !bytes.Equal(got, old) {
				t.Fatalf("flushed block %d holds %d…", n+10, got[0])
			}
		}
	}
	if kept == 0 || lost == 0 || torn == 0 || d.reorders == 0 {
		t.Errorf("%d writes kept, %d lost, %d torn, %d cuts reordered; want some of each", kept, lost, torn, d.reorders)
	}
}
