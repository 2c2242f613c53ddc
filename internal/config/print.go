// Prints the settings for consign config, its template, and the reference of settings. Masks secrets.

package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"
)

const mask = "********"

// Setting is one row of the reference.
type Setting struct {
	Group   string // heading of its section
	Name    string // name of the variable, with prefix
	Type    string // type in words
	Default string // default value, or its meaning in words; empty: none
	InWords bool   // whether Default describes a rule
	Doc     string // one or two sentences
	Secret  bool   // never printed
}

// Reference lists all settings in the order of the table.
func Reference() []Setting {
	var list []Setting
	group := ""
	for field := range reflect.TypeFor[Config]().Fields() {
		name := field.Tag.Get("env")
		if name == "" {
			continue
		}
		if g := field.Tag.Get("group"); g != "" {
			group = g
		}
		s := Setting{Group: group, Name: Prefix + name, Type: typeInWords(field), Doc: field.Tag.Get("doc"),
			Secret: field.Tag.Get("secret") != ""}
		s.Default = field.Tag.Get("default")
		if s.Default == "" {
			s.Default, s.InWords = field.Tag.Get("otherwise"), true
		}
		list = append(list, s)
	}
	return list
}

func typeInWords(field reflect.StructField) string {
	if words := field.Tag.Get("oneof"); words != "" {
		return strings.ReplaceAll(words, ",", " or ")
	}
	switch field.Type {
	case reflect.TypeFor[bool]():
		return "on or off"
	case reflect.TypeFor[int]():
		return "number"
	case reflect.TypeFor[[]int]():
		return "numbers"
	case reflect.TypeFor[[]string](), reflect.TypeFor[[]netip.Prefix]():
		return "list"
	case reflect.TypeFor[[]byte]():
		return "base64"
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[*url.URL]():
		return "URL"
	case reflect.TypeFor[Bucket]():
		return "capacity,drain"
	case reflect.TypeFor[Floor]():
		return "size,percent"
	}
	return "text"
}

// fields yields each setting's field and value.
func (c *Config) fields() iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for field, value := range reflect.ValueOf(c).Elem().Fields() {
			if field.Tag.Get("env") != "" && !yield(field, value) {
				return
			}
		}
	}
}

// Print writes the effective settings as lines NAME=value, under the headings of the reference. It masks secrets and the
// passwords in URLs. The fingerprint comes last.
func (c Config) Print(w io.Writer) error {
	var b strings.Builder
	for field, value := range c.fields() {
		if g := field.Tag.Get("group"); g != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString("# " + g + "\n")
		}
		fmt.Fprintf(&b, "%s%s=%s\n", Prefix, field.Tag.Get("env"), shown(field, value))
	}
	fmt.Fprintf(&b, "\n# fingerprint %s\n", c.Fingerprint())
	_, err := io.WriteString(w, b.String())
	return err
}

// shown returns the value of a setting as text. It masks secrets and the passwords in URLs.
func shown(field reflect.StructField, value reflect.Value) string {
	text := format(value.Interface())
	switch {
	case field.Tag.Get("secret") != "" && value.Len() > 0:
		return mask
	case strings.Contains(text, "://"):
		return maskURL(text)
	}
	return text
}

// Fingerprint returns 12 characters that are equal for equal settings. Secrets, and passwords in URLs, are not part of it.
func (c Config) Fingerprint() string {
	sum := sha256.New()
	for field, value := range c.fields() {
		if field.Tag.Get("secret") == "" {
			fmt.Fprintf(sum, "%s=%s\n", field.Tag.Get("env"), shown(field, value))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// Marks returns a mark of each setting, secrets included, by name. Two configurations with the same mark function have the same mark
// where they have the same value. own are the names of the settings in which replicas may differ.
func (c Config) Marks(mark func(name, value string) string) (marks map[string]string, own map[string]bool) {
	marks, own = map[string]string{}, map[string]bool{}
	for field, value := range c.fields() {
		name := Prefix + field.Tag.Get("env")
		marks[name], own[name] = mark(name, format(value.Interface())), field.Tag.Get("own") != ""
	}
	return marks, own
}

// Effective is a setting with its value.
type Effective struct {
	Setting
	Value string // as Print writes it, secrets masked
	Given bool   // the environment has it; otherwise the value is the default
}

// Effective lists all settings with their values, in the order of the table.
func (c Config) Effective() []Effective {
	list := Reference()
	all := make([]Effective, 0, len(list))
	for field, value := range c.fields() {
		s := list[len(all)]
		all = append(all, Effective{Setting: s, Value: shown(field, value), Given: c.given[s.Name]})
	}
	return all
}

func format(value any) string {
	switch v := value.(type) {
	case bool:
		if v {
			return "on"
		}
		return "off"
	case time.Duration:
		return formatDuration(v)
	case []string:
		return strings.Join(v, ",")
	case []int:
		return join(v)
	case []netip.Prefix:
		return join(v)
	case []byte:
		return string(v)
	}
	return fmt.Sprint(value)
}

func join[T any](list []T) string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(texts, ",")
}

var (
	credentials = regexp.MustCompile(`(://[^/?#]*?:)[^/?#]*@`)
	parameters  = regexp.MustCompile(`(?i)([?&;][^=&;]*(?:password|passwd|secret|token|key)[^=&;]*=)[^&;#]*`)
)

// maskURL masks the password in a URL's user part and the values of query parameters that are named like secrets. It works on
// the text, so that a malformed URL is masked too.
func maskURL(s string) string {
	s = credentials.ReplaceAllString(s, "${1}"+mask+"@")
	return parameters.ReplaceAllString(s, "${1}"+mask)
}

// Markdown writes the reference, one table for each group.
func Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Settings\n")
	group := ""
	for _, s := range Reference() {
		if s.Group != group {
			group = s.Group
			b.WriteString("\n## " + group + "\n\n| variable | type | default | meaning |\n|---|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, s.Type, s.Default, strings.ReplaceAll(s.Doc, "<", `\<`))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Template writes an environment file for systemd in which every setting is a comment, with its meaning above it.
func Template(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Settings of Consign. Remove the # before a setting to change it, then restart the server.\n")
	group := ""
	for _, s := range Reference() {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n######## %s\n", group)
		}
		fmt.Fprintf(&b, "\n# %s\n", s.Doc)
		value := s.Default
		if s.InWords {
			value = ""
			if s.Default != "" {
				fmt.Fprintf(&b, "# Default: %s.\n", s.Default)
			}
		}
		fmt.Fprintf(&b, "#%s=%s\n", s.Name, value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
