// Sentences to a sender about wrong answers to a mailbox's questions, and to an owner about a wrong schema.

package transfer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/consign-dev/consign/internal/fault"
)

var english = message.NewPrinter(language.English)

// schemaProblem returns where and why a schema is invalid, as the end of a sentence that begins with "fieldsSchema".
func schemaProblem(err error) error {
	var whole *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &whole) || !errors.As(whole.Err, &invalid) {
		return errors.New("is not a valid JSON Schema")
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	return fmt.Errorf("is not a valid JSON Schema at /%s: %s", clip(strings.Join(invalid.InstanceLocation, "/")),
		clip(invalid.ErrorKind.LocalizedString(english)))
}

// fieldProblems returns one detail per problem of the fields, for the person who fills them in.
func fieldProblems(invalid *jsonschema.ValidationError) []string {
	var details []string
	add := func(field []string, says string) {
		detail := strings.Join(append([]string{"fields"}, field...), ".") + ": " + says
		if len(details) < fault.MaxProblems && !slices.Contains(details, detail) {
			details = append(details, detail)
		}
	}
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		each := func(names []string, says string) {
			for _, name := range names {
				add(append(slices.Clone(e.InstanceLocation), clip(name)), says)
			}
		}
		switch k := e.ErrorKind.(type) {
		case *kind.Required:
			each(k.Missing, "is required")
		case *kind.DependentRequired:
			each(k.Missing, "is required with "+quote(k.Prop))
		case *kind.Dependency:
			each(k.Missing, "is required with "+quote(k.Prop))
		case *kind.AdditionalProperties:
			each(k.Properties, "is not among the fields that the mailbox asks for")
		case *kind.PropertyNames:
			each([]string{k.Property}, "has a name that the mailbox does not allow")
		case *kind.AnyOf, *kind.OneOf:
			add(e.InstanceLocation, alternatives(e))
		default:
			if len(e.Causes) == 0 {
				add(e.InstanceLocation, problem(e.ErrorKind))
			}
			for _, cause := range e.Causes {
				walk(cause)
			}
		}
	}
	walk(invalid)
	slices.Sort(details)
	return details
}

// problem describes why one value is invalid.
func problem(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Enum:
		return oneOf(k.Want)
	case *kind.Const:
		return oneOf([]any{k.Want})
	case *kind.MinLength:
		return "is shorter than " + characters(k.Want)
	case *kind.MaxLength:
		return "is longer than " + characters(k.Want)
	case *kind.Pattern:
		return "does not match the pattern " + quote(k.Want)
	case *kind.Format:
		return "is not of the format " + k.Want
	case *kind.Type:
		return "cannot be given: the mailbox asks for something else than a text"
	case *kind.FalseSchema:
		return "is not among the fields that the mailbox asks for"
	case *kind.Not:
		return "is what the mailbox does not allow"
	}
	return clip(k.LocalizedString(english))
}

// alternatives describes the valid values where none of several schemas matches, or more than one.
func alternatives(e *jsonschema.ValidationError) string {
	var allowed []any
	for _, cause := range e.Causes {
		switch k := cause.ErrorKind.(type) {
		case *kind.Const:
			allowed = append(allowed, k.Want)
		case *kind.Enum:
			allowed = append(allowed, k.Want...)
		default:
			return "must fit one of the alternatives that the mailbox allows"
		}
	}
	if len(allowed) == 0 {
		return "fits more than one of the alternatives that the mailbox allows"
	}
	return oneOf(allowed)
}

// oneOf lists the choices if they fit into 500 bytes.
func oneOf(choices []any) string {
	var list []string
	length := 0
	for _, c := range choices {
		text, ok := c.(string)
		if length += len(text); !ok || length > 500 {
			return "is not one of the choices"
		}
		list = append(list, quote(text))
	}
	if len(list) == 1 {
		return "must be " + list[0]
	}
	return "must be one of " + strings.Join(list, ", ")
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return strconv.Itoa(n) + " characters"
}

// quote returns a client's text in quotes, for use within a sentence.
func quote(text string) string { return strconv.Quote(clip(text)) }

// clip limits a client's text to one line of 200 bytes.
func clip(text string) string {
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
