package strictjson

import (
	"encoding"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

// value reads the next value into dst, or skips it when dst is invalid. A value that does not fit is a problem at l.
func (p *parser) value(dst reflect.Value, l *place) error {
	if dst.IsValid() {
		if dst.Kind() == reflect.Pointer && p.peek() != 'n' {
			if dst.IsNil() {
				dst.Set(reflect.New(dst.Type().Elem()))
			}
			return p.value(dst.Elem(), l)
		}
		if handled, err := p.unmarshaler(dst, l); handled {
			return err
		}
	}
	switch c := p.peek(); {
	case c == '{':
		return p.objectInto(dst, l)
	case c == '[':
		return p.listInto(dst, l)
	case c == '"':
		text, err := p.text()
		if err == nil && dst.IsValid() {
			if dst.Kind() == reflect.String {
				dst.SetString(text)
			} else {
				p.mismatch(dst, l)
			}
		}
		return err
	case c == '-' || c >= '0' && c <= '9':
		text, err := p.number()
		if err == nil && dst.IsValid() {
			p.setNumber(dst, text, l)
		}
		return err
	}
	word, err := p.literal()
	if err != nil || !dst.IsValid() {
		return err
	}
	switch kind := dst.Kind(); {
	case word == "null" && (kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice):
		dst.SetZero()
	case word != "null" && kind == reflect.Bool:
		dst.SetBool(word == "true")
	default:
		p.mismatch(dst, l)
	}
	return nil
}

// unmarshaler reads the value into a json.Unmarshaler, an encoding.TextUnmarshaler or an any, which encoding/json fills. It returns
// false for other types.
func (p *parser) unmarshaler(dst reflect.Value, l *place) (handled bool, err error) {
	if !dst.CanAddr() || dst.Kind() == reflect.Pointer {
		return false, nil
	}
	if dst.Kind() == reflect.Interface {
		raw, err := p.skip(l)
		if err == nil {
			err = json.Unmarshal(raw, dst.Addr().Interface())
		}
		return true, err
	}
	if dst.Type().PkgPath() == "" && dst.Kind() != reflect.Struct {
		return false, nil // an unnamed or built-in type has no methods
	}
	switch target := dst.Addr().Interface().(type) {
	case json.Unmarshaler:
		raw, err := p.skip(l)
		if err == nil {
			p.refused(target.UnmarshalJSON(raw), l)
		}
		return true, err
	case encoding.TextUnmarshaler:
		if p.peek() != '"' {
			if _, err := p.skip(l); err != nil {
				return true, err
			}
			p.problem(l, "must be a string")
			return true, nil
		}
		text, err := p.text()
		if err == nil {
			p.refused(target.UnmarshalText([]byte(text)), l)
		}
		return true, err
	}
	return false, nil
}

func (p *parser) refused(err error, l *place) {
	var sentence valueError
	switch {
	case err == nil:
	case errors.As(err, &sentence):
		p.problem(l, sentence.Error())
	default:
		p.problem(l, "is not a valid value")
	}
}

// StrictMembers is implemented by wire structs that allow no members beyond their own.
type StrictMembers interface{ StrictMembers() }

func (p *parser) objectInto(dst reflect.Value, l *place) error {
	if !dst.IsValid() || dst.Kind() != reflect.Struct && dst.Kind() != reflect.Map {
		if dst.IsValid() {
			p.mismatch(dst, l)
		}
		return p.object(l, func(_ string, l *place) error { return p.value(reflect.Value{}, l) })
	}
	if dst.Kind() == reflect.Map {
		return p.mapInto(dst, l)
	}
	strict := false
	if dst.CanAddr() {
		_, strict = dst.Addr().Interface().(StrictMembers)
	}
	return p.object(l, func(name string, l *place) error {
		field := fieldNamed(dst, name)
		if !field.IsValid() && strict {
			p.problem(l, "is not a member of this object")
		}
		if p.peek() == 'n' && !readsNull(field) { // the member counts as absent
			field = reflect.Value{}
		}
		return p.value(field, l)
	})
}

// readsNull reports whether a member's type decides what null means: it has UnmarshalJSON.
func readsNull(field reflect.Value) bool {
	if !field.IsValid() || !field.CanAddr() {
		return false
	}
	_, ok := field.Addr().Interface().(json.Unmarshaler)
	return ok || field.Kind() == reflect.Interface
}

// mapInto fills a map with string keys.
func (p *parser) mapInto(dst reflect.Value, l *place) error {
	t := dst.Type()
	dst.Set(reflect.MakeMap(t))
	full := false
	return p.object(l, func(name string, inner *place) error {
		if dst.Len() >= maxElements {
			if !full {
				p.problem(l, "has more than "+strconv.Itoa(maxElements)+" members")
			}
			full = true
			return p.value(reflect.Value{}, inner)
		}
		element := reflect.New(t.Elem()).Elem()
		err := p.value(element, inner)
		dst.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), element)
		return err
	})
}

func (p *parser) listInto(dst reflect.Value, l *place) error {
	if !dst.IsValid() || dst.Kind() != reflect.Slice {
		if dst.IsValid() {
			p.mismatch(dst, l)
		}
		return p.list(l, func(l *place) error { return p.value(reflect.Value{}, l) })
	}
	dst.Set(reflect.MakeSlice(dst.Type(), 0, 0))
	full := false
	return p.list(l, func(inner *place) error {
		if dst.Len() >= maxElements {
			if !full {
				p.problem(l, "has more than "+strconv.Itoa(maxElements)+" entries")
			}
			full = true
			return p.value(reflect.Value{}, inner)
		}
		dst.Set(reflect.Append(dst, reflect.Zero(dst.Type().Elem())))
		return p.value(dst.Index(dst.Len()-1), inner)
	})
}

// fieldNamed returns the field of struct v whose JSON name is exactly name, those of embedded structs included.
func fieldNamed(v reflect.Value, name string) reflect.Value {
	t := v.Type()
	for i := range t.NumField() {
		field := t.Field(i)
		tag, tagged := field.Tag.Lookup("json")
		own, _, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case field.Anonymous && own == "" && field.Type.Kind() == reflect.Struct:
			if inner := fieldNamed(v.Field(i), name); inner.IsValid() {
				return inner
			}
		case !field.IsExported():
		case own == name && own != "", (!tagged || own == "") && field.Name == name:
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// setNumber stores a number. Whole numbers may be written as 1.0 or 1e3, which JSON does not tell from 1 and 1000.
func (p *parser) setNumber(dst reflect.Value, text string, l *place) {
	switch kind := dst.Kind(); {
	case dst.CanInt():
		if n, ok := wholeNumber(text); !ok {
			p.problem(l, "must be a whole number")
		} else if !n.IsInt64() || dst.OverflowInt(n.Int64()) {
			p.problem(l, "is out of range")
		} else {
			dst.SetInt(n.Int64())
		}
	case dst.CanUint():
		if n, ok := wholeNumber(text); !ok {
			p.problem(l, "must be a whole number")
		} else if !n.IsUint64() || dst.OverflowUint(n.Uint64()) {
			p.problem(l, "is out of range")
		} else {
			dst.SetUint(n.Uint64())
		}
	case kind == reflect.Float64 || kind == reflect.Float32:
		f, err := strconv.ParseFloat(text, dst.Type().Bits())
		if err != nil {
			p.problem(l, "is out of range")
			return
		}
		dst.SetFloat(f)
	default:
		p.mismatch(dst, l)
	}
}

// wholeNumber returns the value of a number without fraction, false for others. A number with too many digits becomes one that is out of
// every range.
func wholeNumber(text string) (*big.Int, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return big.NewInt(n), true
	}
	tooBig := new(big.Int).Lsh(big.NewInt(1), 128)
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if e, err := strconv.Atoi(exponent); exponent != "" && (err != nil || e > 40 || e < -40) || len(mantissa) > 60 {
		f, err := strconv.ParseFloat(text, 64)
		return tooBig, err != nil || f > 1 || f < -1
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.IsInt() {
		return nil, false
	}
	return r.Num(), true
}

// mismatch records the problem that the value is not of the member's type.
func (p *parser) mismatch(dst reflect.Value, l *place) {
	want := "is not allowed"
	switch kind := dst.Kind(); {
	case kind == reflect.Pointer:
		p.mismatch(reflect.New(dst.Type().Elem()).Elem(), l)
		return
	case kind == reflect.String:
		want = "must be a string"
	case kind == reflect.Bool:
		want = "must be true or false"
	case dst.CanInt() || dst.CanUint():
		want = "must be a whole number"
	case dst.CanFloat():
		want = "must be a number"
	case kind == reflect.Struct || kind == reflect.Map:
		want = "must be an object"
	case kind == reflect.Slice:
		want = "must be a list"
	}
	p.problem(l, want)
}
