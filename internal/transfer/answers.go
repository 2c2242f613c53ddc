package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Answer is a sender's answer to a question of a mailbox. A question that the mailbox no longer has is called by the field's name.
type Answer struct {
	Name   string // of the field
	Title  string // of the question
	Value  string // as people read it: of a selection, the label
	Format string // of Value: text, email, select, date, time or number
}

// Answers returns the filled fields of a transfer as answers, in the order in which the mailbox asks. All parameters are JSON, or nil.
func Answers(fieldsSchema, uiSchema, fields []byte) []Answer {
	var values map[string]string
	if len(fields) == 0 || json.Unmarshal(fields, &values) != nil {
		return nil
	}
	questions := readQuestions(fieldsSchema, uiSchema)
	var list []Answer
	for _, name := range answerOrder(questions, keys(fields)) {
		if value, given := values[name]; given && value != "" {
			list = append(list, questions.looks[name].answer(name, value))
		}
	}
	return list
}

// Questions returns the questions of a mailbox in their order, as answers without a value.
func Questions(fieldsSchema, uiSchema []byte) []Answer {
	questions := readQuestions(fieldsSchema, uiSchema)
	var list []Answer
	for _, name := range answerOrder(questions, nil) {
		list = append(list, questions.looks[name].answer(name, ""))
	}
	return list
}

// questions are a mailbox's fields with what the two schemas say about each.
type questions struct {
	order, fields []string // of ui:order; of the properties, as written
	looks         map[string]look
}

type look struct {
	Widget  string         `json:"ui:widget"`
	UITitle string         `json:"ui:title"`
	Options map[string]any `json:"ui:options"`

	title string // of the fieldsSchema
}

func readQuestions(fieldsSchema, uiSchema []byte) questions {
	q := questions{looks: map[string]look{}}
	var schema struct {
		Properties json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(fieldsSchema, &schema) // a schema that cannot be read has no titles
	var rules map[string]json.RawMessage
	_ = json.Unmarshal(schema.Properties, &rules)
	var looks map[string]json.RawMessage
	_ = json.Unmarshal(uiSchema, &looks)
	_ = json.Unmarshal(looks["ui:order"], &q.order)
	q.fields = keys(schema.Properties)
	for _, name := range q.fields {
		var l look
		_ = json.Unmarshal(looks[name], &l)
		var rule struct {
			Title any `json:"title"`
		}
		_ = json.Unmarshal(rules[name], &rule)
		l.title, _ = rule.Title.(string)
		q.looks[name] = l
	}
	return q
}

// answerOrder returns the names of the fields: as ui:order says, then the other fields of the schema, then the given ones.
func answerOrder(q questions, given []string) []string {
	var names []string
	for _, name := range slices.Concat(q.order, q.fields, given) {
		_, known := q.looks[name]
		if (known || slices.Contains(given, name)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (l look) answer(name, value string) Answer {
	a := Answer{Name: name, Title: l.UITitle, Value: value, Format: l.Widget}
	if a.Title == "" {
		a.Title = l.title
	}
	if a.Title == "" {
		a.Title = name
	}
	switch l.Widget {
	case "updown":
		a.Format = "number"
	case "select":
		a.Value = l.label(value)
	case "email", "date", "time":
	default:
		a.Format = "text"
	}
	return a
}

// label returns what senders see for a choice of a selection.
func (l look) label(value string) string {
	choices, _ := l.Options["enumOptions"].([]any)
	for _, c := range choices {
		choice, _ := c.(map[string]any)
		if text, ok := choice["label"].(string); ok && text != "" && fmt.Sprint(choice["value"]) == value {
			return text
		}
	}
	return value
}

// keys returns the member names of a JSON object as written. It returns nil for other JSON.
func keys(raw []byte) []string {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var names []string
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return names
		}
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	return names
}
