// The questions of a mailbox: which JSON Schema is allowed, and the check of answers.

package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/consign-dev/consign/internal/text"
)

// schemaURL is the base URI of a fieldsSchema while it is compiled.
const schemaURL = "urn:consign:fields"

// CheckFieldsSchema checks a mailbox's fieldsSchema: a self-contained JSON Schema of an object, with type, title, properties
// and required. Each field must accept strings, because all values are strings (contract 4.4). Its error is the end of a
// sentence for a detail.
func CheckFieldsSchema(raw []byte) error {
	s, err := compileFields(raw)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if types := s.Properties[name].Types; types != nil && !slices.Contains(types.ToStrings(), "string") {
			return fmt.Errorf("needs the type string in %s: what senders give is text, whose form a pattern or format can ask for", quote(name))
		}
	}
	return nil
}

// fieldsSchema is a compiled schema with the cost of using it.
type fieldsSchema struct {
	*jsonschema.Schema
	steps    int // subschemas visited for one value
	patterns *patterns
}

func compileFields(raw []byte) (*fieldsSchema, error) {
	if len(raw) > text.MaxSchema {
		return nil, fmt.Errorf("is longer than %d bytes", text.MaxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	shape, _ := doc.(map[string]any) // by exact names; struct decoding would ignore case
	_, titled := shape["title"].(string)
	properties, keyed := shape["properties"].(map[string]any)
	required, listed := names(shape["required"])
	switch {
	case err != nil || !titled || !keyed || !listed:
		return nil, errors.New("needs all of type, title (string), properties (object) and required (array of field names)")
	case shape["type"] != "object":
		return nil, errors.New(`needs the type "object"`)
	}
	for _, name := range required {
		if _, known := properties[name]; !known {
			return nil, fmt.Errorf("requires the field %s, which is not among its properties", quote(name))
		}
	}
	steps, err := boundReferences(doc)
	if err != nil {
		return nil, err
	}
	c, p := jsonschema.NewCompiler(), &patterns{}
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(p.compile)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, errors.New("is not a JSON Schema")
	}
	s, err := c.Compile(schemaURL)
	switch {
	case p.tooLarge:
		return nil, fmt.Errorf("has a pattern that is too large: at most %d bytes, and no large repetitions", maxPatternBytes)
	case err != nil:
		return nil, schemaProblem(err)
	}
	return &fieldsSchema{Schema: s, steps: steps, patterns: p}, nil
}

// names returns an array of strings; ok is false for any other value.
func names(value any) ([]string, bool) {
	list, ok := value.([]any)
	strs := make([]string, len(list))
	for i, v := range list {
		s, isString := v.(string)
		strs[i], ok = s, ok && isString
	}
	return strs, ok
}

// patterns are the regular expressions of one schema during one use. They share a budget of steps: a match cannot be stopped,
// but takes at most its number of instructions times the bytes of the value.
type patterns struct {
	size     int
	tooLarge bool
	steps    int
	spent    bool
}

// compile implements jsonschema.RegexpEngine.
func (p *patterns) compile(expr string) (jsonschema.Regexp, error) {
	size, err := patternSize(expr)
	p.size += size
	if size > maxPatternSize || p.size > maxPatternsSize {
		p.tooLarge = true
		err = errors.New("pattern is too large")
	}
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return &pattern{Regexp: re, size: size, all: p}, nil
}

// patternSize returns how many instructions a regular expression compiles to.
func patternSize(expr string) (int, error) {
	if len(expr) > maxPatternBytes {
		return maxPatternSize + 1, nil
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

// pattern is a regular expression that matches nothing once the budget is spent.
type pattern struct {
	*regexp.Regexp
	size int
	all  *patterns
}

// MatchString implements jsonschema.Regexp.
func (p *pattern) MatchString(s string) bool {
	p.all.steps += p.size * (len(s) + 1)
	if p.all.steps > maxPatternSteps {
		p.all.spent = true
		return false
	}
	return p.Regexp.MatchString(s)
}

// ValidateFields checks values, a JSON object of strings or nothing, against a mailbox's schema. It returns one detail per
// problem.
func ValidateFields(schema, values []byte) []string {
	if len(schema) == 0 {
		return nil
	}
	s, err := compileFields(schema)
	if err != nil {
		return []string{"fields: the mailbox's fieldsSchema " + err.Error()}
	}
	if len(values) == 0 {
		values = []byte("{}")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(values))
	if err != nil {
		return []string{"fields: is not JSON"}
	}
	tooMuch := []string{"fields: are too many or too long to check against the mailbox's fieldsSchema"}
	if members, _ := v.(map[string]any); s.steps*(len(members)+1) > maxFieldChecks {
		return tooMuch
	}
	err = s.Validate(v)
	if s.patterns.spent {
		return tooMuch
	}
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []string{"fields: cannot be checked against the mailbox's fieldsSchema"}
	}
	return fieldProblems(invalid)
}

// noLoader refuses to load schemas, so that no reference reads a file or another host.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema refers to nothing outside itself")
}

var errOutside = errors.New("has a $ref outside itself; only #/… is allowed")

// boundReferences refuses references out of the document, circular references, and references that expand a small document
// into a huge one. It returns the number of parts after expansion.
func boundReferences(doc any) (int, error) {
	b := bounder{doc: doc, done: map[string]int{}, open: map[string]bool{}}
	steps, err := b.steps(doc)
	if err == nil && steps > maxSchemaSteps {
		return 0, fmt.Errorf("unfolds into more than %d parts", maxSchemaSteps)
	}
	return steps, err
}

type bounder struct {
	doc  any
	done map[string]int
	open map[string]bool
}

// steps counts the values in node, with references expanded. It stops soon after maxSchemaSteps.
func (b *bounder) steps(node any) (int, error) {
	total := 1
	var children []any
	switch n := node.(type) {
	case []any:
		children = n
	case map[string]any:
		for name, child := range n {
			switch name {
			case "$dynamicRef", "$recursiveRef", "$id", "id", "$anchor", "$dynamicAnchor", "$schema":
				if _, isString := child.(string); isString {
					if name == "$schema" || name == "id" {
						continue
					}
					return 0, fmt.Errorf("uses %s, which is not supported", name)
				}
			case "$ref":
				if ref, isString := child.(string); isString {
					behind, err := b.follow(ref)
					if err != nil {
						return 0, err
					}
					total += behind
					continue
				}
			}
			children = append(children, child)
		}
	}
	for _, child := range children {
		if total > maxSchemaSteps {
			break
		}
		inside, err := b.steps(child)
		if err != nil {
			return 0, err
		}
		total += inside
	}
	return min(total, maxSchemaSteps+1), nil
}

func (b *bounder) follow(ref string) (int, error) {
	if n, known := b.done[ref]; known {
		return n, nil
	}
	if b.open[ref] {
		return 0, errors.New("refers to itself in a circle")
	}
	node, err := b.find(ref)
	if err != nil {
		return 0, err
	}
	b.open[ref] = true
	n, err := b.steps(node)
	b.open[ref] = false
	b.done[ref] = n
	return n, err
}

// find returns the target of a reference: a JSON pointer in a fragment (RFC 6901, 6).
func (b *bounder) find(ref string) (any, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(fragment)
	if err != nil || !local || pointer != "" && pointer[0] != '/' {
		return nil, errOutside
	}
	node := b.doc
	if pointer == "" {
		return node, nil
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		found := false
		switch parent := node.(type) {
		case map[string]any:
			node, found = parent[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		case []any:
			i, err := strconv.Atoi(step)
			if found = err == nil && i >= 0 && i < len(parent); found {
				node = parent[i]
			}
		}
		if !found {
			return nil, fmt.Errorf("refers to %s, which is not there", clip(ref))
		}
	}
	return node, nil
}
