package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// member is a member of an object that is wanted, or below which members are wanted.
type member struct {
	field int // index of the member in Record.fields, or -1 if it is not wanted
	below map[string]*member
}

// newMembers returns the object of the wanted members, which are given by their paths.
func newMembers(paths []string) *member {
	root := &member{field: -1}
	for i, path := range paths {
		m := root
		for name := range strings.SplitSeq(path, ".") {
			next := m.below[name]
			if next == nil {
				next = &member{field: -1}
				if m.below == nil {
					m.below = map[string]*member{}
				}
				m.below[name] = next
			}
			m = next
		}
		if m.field < 0 {
			m.field = i
		}
	}
	return root
}

// find returns the member with a name, or nil if neither it nor a member below it is wanted. A name that
// contains dots is the same as a path.
func (m *member) find(name string) *member {
	for m != nil {
		part, rest, more := strings.Cut(name, ".")
		if m = m.below[part]; !more {
			return m
		}
		name = rest
	}
	return nil
}

// parseJSON sets the record's fields to the wanted members of the record's JSON object.
func (r *Record) parseJSON() error {
	for i := range r.fields {
		r.fields[i].lo = -1
	}
	clear(r.seen)
	if r.layout.wanted == nil {
		r.fields[0] = bound{0, len(r.text)}
	}
	r.buffer = r.buffer[:0]
	if !json.Valid(r.text) {
		return r.badJSON()
	}
	s := jsonScanner{text: r.text}
	if s.space(); s.text[s.at] != '{' {
		return fmt.Errorf("%s: want a JSON object on each line", quoted(r.text))
	}
	if err := r.parseMembers(&s, r.layout.members); err != nil {
		return err
	}
	if len(r.buffer) > 0 {
		r.data = r.buffer
	}
	return nil
}

// parseMembers sets the fields that are members of the object at which the scanner is, and of the objects
// below it. It moves to the end of the object, so that it reads each byte of the record once.
func (r *Record) parseMembers(s *jsonScanner, of *member) error {
	s.at++
	for s.space(); s.text[s.at] != '}'; s.space() {
		if s.text[s.at] == ',' {
			s.at++
			s.space()
		}
		name, escaped := s.string()
		s.space()
		s.at++ // skips the colon
		s.space()
		m, i := of.find(memberName(r.text[name.lo:name.hi], escaped)), -1
		if m != nil {
			i = m.field
		}
		value, quotes := bound{}, s.text[s.at] == '"'
		switch {
		case quotes:
			value, escaped = s.string()
		case s.text[s.at] == '{' && m != nil && m.below != nil && !r.layout.all:
			value.lo, escaped = s.at, false
			if err := r.parseMembers(s, m); err != nil {
				return err
			}
			value.hi = s.at
		default:
			value, escaped = s.value(), false
		}
		switch {
		case i < 0 && r.layout.all:
			return fmt.Errorf("the member %.80q is not in the first records of the input: add it to the parameter names, or give the members to read, for example with the parameter columns", r.text[name.lo:name.hi])
		case i < 0:
		case r.seen[i]:
			return fmt.Errorf("two members of the record are named %.80q: want different names", r.layout.wanted[i])
		case !quotes && s.text[value.lo] == 'n': // a field is nil for the value null
			r.fields[i].lo = -1
		case escaped:
			if len(r.buffer) == 0 { // the buffer begins with a copy of the text
				r.buffer = append(r.buffer, r.text...)
			}
			lo := len(r.buffer)
			r.buffer = append(r.buffer, unescape(r.text[value.lo-1:value.hi+1])...)
			r.fields[i] = bound{lo, len(r.buffer)}
		default:
			r.fields[i] = value
		}
		if i >= 0 {
			r.seen[i], r.raw[i] = true, !quotes
		}
	}
	s.at++
	return nil
}

// memberName returns the name of a member.
func memberName(name []byte, escaped bool) string {
	text := view(name)
	if escaped {
		text = unescape([]byte(`"` + text + `"`))
	}
	return text
}

// unescape returns the content of a valid JSON string.
func unescape(quoted []byte) (text string) {
	_ = json.Unmarshal(quoted, &text) // Unmarshal cannot fail, because the string is valid
	return text
}

func (r *Record) badJSON() error {
	var value any
	err := json.Unmarshal(r.text, &value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s is not JSON, at byte %d of the record: %w: want a JSON object on each line", quoted(r.text), syntax.Offset, err)
	}
	return fmt.Errorf("%s is not JSON: want a JSON object on each line", quoted(r.text))
}

// jsonScanner finds the members in the text of a valid JSON object.
type jsonScanner struct {
	text []byte
	at   int
}

func (s *jsonScanner) space() {
	for s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\r' || s.text[s.at] == '\n' {
		s.at++
	}
}

// string moves to the end of a string, and returns the bounds of the text between its quotes.
func (s *jsonScanner) string() (content bound, escaped bool) {
	s.at++
	content.lo = s.at
	for s.text[s.at] != '"' {
		if s.text[s.at] == '\\' {
			escaped = true
			s.at++
		}
		s.at++
	}
	content.hi = s.at
	s.at++
	return content, escaped
}

// value moves to the end of a value that is not a string, and returns the bounds of the value.
func (s *jsonScanner) value() bound {
	lo, depth := s.at, 0
	for {
		switch s.text[s.at] {
		case '"':
			s.string()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return bound{lo, s.at}
			}
			if depth--; depth == 0 {
				s.at++
				return bound{lo, s.at}
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return bound{lo, s.at}
			}
		}
		s.at++
	}
}
