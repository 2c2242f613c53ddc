package id_test

import (
	"encoding/json"
	"testing"

	"github.com/consign-dev/consign/internal/id"
)

func TestParse(t *testing.T) {
	t.Parallel()
	p := id.New[id.Person]()
	back, err := id.Parse[id.Person](p.String())
	if err != nil || back != p {
		t.Fatalf("Parse(%s) = %s, %v", p, back, err)
	}
	for _, bad := range []string{"", "x", "urn:uuid:" + p.String(), "{" + p.String() + "}", p.String()[:35]} {
		if _, err := id.Parse[id.Person](bad); err == nil {
			t.Errorf("Parse(%q) succeeded", bad)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	o := id.New[id.Organization]()
	b, err := json.Marshal(map[string]any{"uid": o})
	if err != nil || string(b) != `{"uid":"`+o.String()+`"}` {
		t.Fatalf("Marshal = %s, %v", b, err)
	}
	var in struct{ UID id.Organization }
	if err := json.Unmarshal(b, &in); err != nil || in.UID != o {
		t.Fatalf("Unmarshal = %v, %v", in, err)
	}
	if o.IsZero() || !(id.Organization{}).IsZero() {
		t.Error("IsZero is wrong")
	}
}
