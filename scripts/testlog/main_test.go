package main

import (
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"    p_test.go:3: quiet\n"}
{"Action":"pass","Package":"p","Test":"TestGood","Elapsed":1.5}
{"Action":"output","Package":"p","Test":"TestBad/sub","Output":"    p_test.go:7: the reason\n"}
{"Action":"fail","Package":"p","Test":"TestBad/sub","Elapsed":9}
{"Action":"output","Package":"p","Test":"TestBad","Output":"--- FAIL: TestBad (2.50s)\n"}
{"Action":"fail","Package":"p","Test":"TestBad","Elapsed":2.5}
{"Action":"skip","Package":"p","Test":"TestSkipped","Elapsed":0}
{"Action":"output","Package":"p","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t4.0s\n"}
{"Action":"fail","Package":"p","Elapsed":4}
{"ImportPath":"q","Action":"build-output","Output":"q.go:1: wrong\n"}
{"Action":"fail","Package":"q","Elapsed":0}
warning: no event
{"Action":"output","Package":"r","Output":"PASS\n"}
{"Action":"output","Package":"r","Output":"ok  \tr\t0.1s\n"}
{"Action":"pass","Package":"r","Elapsed":0.1}
`

const printed = `    p_test.go:7: the reason
--- FAIL: TestBad (2.50s)
FAIL	p	4.0s
panic: test timed out
q.go:1: wrong
warning: no event
ok  	r	0.1s
slowest tests:
    2.5 s  p TestBad
    1.5 s  p TestGood
1 passed, 2 failed
`

func TestReport(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := report{out: &out, output: map[test][]string{}, broken: map[string]bool{}}
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	r.end(2)
	if out.String() != printed {
		t.Errorf("printed\n%s\nnot\n%s", out.String(), printed)
	}
}
