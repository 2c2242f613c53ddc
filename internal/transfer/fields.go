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
)

// Bounds of what a mailbox may ask for.
const (
	MaxSchemaBytes = 64 << 10
	MaxFieldBytes  = 4_000
	maxSchemaSteps = 5_000 // subschemas looked at for one value, references followed
	schemaURL      = "urn:consign:fields"

	// What checking values may cost: subschemas times values, and steps of regular expressions, which are at most their
	// size times the length of the value. Both stand for less than a second.
	maxFieldChecks   = 250_000
	maxPatternBytes  = 1_000
	maxPatternSize   = 5_000 // instructions of one pattern
	maxPatternsSize  = 50_000
	maxPatternSteps  = 20_000_000
	maxFieldProblems = 20
)

// CheckFieldsSchema reads a mailbox's fieldsSchema: an object with type, title, properties and required that is a JSON
// Schema by itself, and whose fields can be texts: all values are (contract 4.4). Its error is a sentence fit for a detail.
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

// fieldsSchema is a compiled schema and the means to keep its use short.
type fieldsSchema struct {
	*jsonschema.Schema
	steps    int // subschemas looked at for one value
	patterns *patterns
}

func compileFields(raw []byte) (*fieldsSchema, error) {
	if len(raw) > MaxSchemaBytes {
		return nil, fmt.Errorf("is longer than %d bytes", MaxSchemaBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	shape, _ := doc.(map[string]any) // by the exact names, as everybody else reads them
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

// names reads an array of texts, false for anything else.
func names(value any) ([]string, bool) {
	list, ok := value.([]any)
	texts := make([]string, len(list))
	for i, one := range list {
		text, is := one.(string)
		texts[i], ok = text, ok && is
	}
	return texts, ok
}

// patterns are the regular expressions of one schema in one use of it, which share a budget of steps: a regexp cannot be
// stopped while it runs, but takes no more steps than it has instructions times the bytes it looks at.
type patterns struct {
	size     int
	tooLarge bool
	steps    int
	spent    bool
}

// compile is a jsonschema.RegexpEngine.
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	size, err := patternSize(text)
	p.size += size
	if size > maxPatternSize || p.size > maxPatternsSize {
		p.tooLarge = true
		err = errors.New("pattern is too large")
	}
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{Regexp: re, size: size, all: p}, nil
}

// patternSize is how many instructions a pattern compiles to.
func patternSize(text string) (int, error) {
	if len(text) > maxPatternBytes {
		return maxPatternSize + 1, nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

// pattern is a regular expression that matches nothing any more once the budget is spent.
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

// ValidateFields checks values, a JSON object of strings or nothing, against a mailbox's schema. It returns one detail
// per problem.
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

// noLoader refuses every schema but the one at hand, so that no reference leads to a file or another host.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema refers to nothing outside itself")
}

var errOutside = errors.New("has a $ref outside itself; only #/… is allowed")

// boundReferences refuses references out of the document, in circles, and such that unfold a small document into an
// endless one. It returns into how many parts the document unfolds.
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

// steps counts the values in node, those behind references included; it stops counting soon after maxSchemaSteps.
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
				if _, text := child.(string); text {
					if name == "$schema" || name == "id" {
						continue
					}
					return 0, fmt.Errorf("uses %s, which is not supported", name)
				}
			case "$ref":
				if ref, text := child.(string); text {
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

// find returns what a reference points at: a JSON pointer in a fragment (RFC 6901, 6).
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
