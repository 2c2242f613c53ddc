package transfer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/transfer"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","title":"T","required":[],"properties":{"due":{"type":"string"},"kind":{"enum":["a","b"]},"note":{"title":"A note"},"odd":{"title":7}}}`
	const look = `{"ui:order":["kind","due","gone"],"kind":{"ui:widget":"select","ui:title":"What is it?","ui:options":{"enumOptions":[{"value":"a","label":"Drawing"},7,{"value":1,"label":"One"}]}},
		"due":{"ui:widget":"date","ui:title":"Needed by","ui:options":{}}}`
	for _, c := range []struct {
		name, schema, look, fields string
		want                       []transfer.Answer
	}{
		{"no fields", schema, look, "", nil},
		{"in the order of the mailbox", schema, look, `{"z":"9","note":"n","odd":"o","due":"2026-11-30","kind":"a"}`, []transfer.Answer{
			{Name: "kind", Title: "What is it?", Value: "Drawing", Format: "select"},
			{Name: "due", Title: "Needed by", Value: "2026-11-30", Format: "date"},
			{Name: "note", Title: "A note", Value: "n", Format: "text"}, {Name: "odd", Title: "odd", Value: "o", Format: "text"},
			{Name: "z", Title: "z", Value: "9", Format: "text"},
		}},
		{"a choice without a label", schema, look, `{"kind":"b"}`,
			[]transfer.Answer{{Name: "kind", Title: "What is it?", Value: "b", Format: "select"}}},
		{"an empty value", schema, look, `{"kind":"","note":"n"}`,
			[]transfer.Answer{{Name: "note", Title: "A note", Value: "n", Format: "text"}}},
		{"without a mailbox", "", "", `{"b":"1","a":"2"}`,
			[]transfer.Answer{{Name: "b", Title: "b", Value: "1", Format: "text"}, {Name: "a", Title: "a", Value: "2", Format: "text"}}},
		{"schemas of another shape", `[1]`, `"x"`, `{"b":"1"}`, []transfer.Answer{{Name: "b", Title: "b", Value: "1", Format: "text"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, transfer.Answers([]byte(c.schema), []byte(c.look), []byte(c.fields))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := transfer.Questions([]byte(schema), []byte(look)); len(got) != 4 || got[0].Title != "What is it?" || got[3].Name != "odd" {
		t.Errorf("questions: %v", got)
	}
}
