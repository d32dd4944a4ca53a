package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/dataset/member"
	"github.com/bellwether-compute/bellwether/jobs/internal/surrogate"
)

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
func (r *Record) parseMembers(s *jsonScanner, of *member.Member) error {
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
		plain, err := memberName(r.text[name.lo:name.hi], escaped)
		if err != nil {
			return err
		}
		m, i := of.Find(plain), -1
		if m != nil {
			i = m.Index
		}
		value, quotes := bound{}, s.text[s.at] == '"'
		switch {
		case quotes:
			value, escaped = s.string()
		case s.text[s.at] == '{' && m != nil && m.Below != nil && !r.layout.all:
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
			text, err := unescape(r.text[value.lo-1 : value.hi+1])
			if err != nil {
				return fmt.Errorf("member %.80q is %w", r.layout.wanted[i], err)
			}
			lo := len(r.buffer)
			r.buffer = append(r.buffer, text...)
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

// JSONMember finds a member of JSON objects that are texts, such as the fields of a column. Only one goroutine may use it.
type JSONMember struct {
	path string
	rec  *Record
}

// NewJSONMember returns the JSONMember for a path such as a.b.
func NewJSONMember(path string) *JSONMember {
	l := &layout{format: ndjson, wanted: []string{path}, members: member.New([]string{path})}
	return &JSONMember{path, &Record{layout: l, fields: make([]bound, 1), seen: make([]bool, 1), raw: make([]bool, 1)}}
}

// Path returns the path.
func (m *JSONMember) Path() string { return m.path }

// Find returns the member of a text as Record.Field returns a field of JSON lines. If the text is JSON but no object, the
// member is missing. Find returns an error if the text is not JSON, or has two members with the path.
func (m *JSONMember) Find(text []byte) ([]byte, error) {
	r := m.rec
	if !json.Valid(text) {
		return nil, fmt.Errorf("%s is not JSON: want a JSON object", quoted(text))
	}
	if bytes.TrimLeft(text, " \t\r\n")[0] != '{' {
		return nil, nil
	}
	r.text, r.data = text, text
	if err := r.parseJSON(); err != nil || r.fields[0].lo < 0 {
		return nil, err
	}
	return r.data[r.fields[0].lo:r.fields[0].hi], nil
}

// memberName returns the name of a member.
func memberName(name []byte, escaped bool) (text string, err error) {
	if text = view(name); !escaped {
		return text, nil
	}
	if text, err = unescape([]byte(`"` + text + `"`)); err != nil {
		err = fmt.Errorf("the name of a member is %w", err)
	}
	return text, err
}

// unescape returns the content of a valid JSON string.
func unescape(quoted []byte) (text string, err error) {
	if err := surrogate.Check(quoted); err != nil {
		return "", err
	}
	return text, json.Unmarshal(quoted, &text)
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
