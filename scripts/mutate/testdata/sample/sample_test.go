package sample

import (
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	if n := Count([]int{1, 2, 2, 3, -2}, 2); n != 3 {
		t.Fatal(n)
	}
}

func TestLate(t *testing.T) {
	if Late(time.Second) || !Late(time.Minute) {
		t.Fatal("the limit is wrong")
	}
}

func TestMix(t *testing.T) {
	if n := Mix(3, 5, 4); n != 21 {
		t.Fatal(n)
	}
}

func TestNeverPasses(t *testing.T) { t.Fatal(Never(nil)) }
