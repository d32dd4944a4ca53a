package exec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"

	"github.com/bellwether-compute/bellwether/jobs/internal/surrogate"
)

// object is the merge of JSON objects. If both objects contain a key, the two values of the key are
// merged. Numbers are added, arrays are joined, and objects are merged recursively. If one value is
// null, the result is the other value. Values of other types must be equal.
var object = merge{
	name: "json",
	normalize: func(output []byte) ([]byte, error) {
		value, err := parseObject(output, maxExponent)
		if err != nil {
			return nil, err
		}
		return formatObject(value)
	},
	joinWhole: func(left, right []byte) ([]byte, error) {
		a, err := parseObject(left, maxMerged)
		if err != nil {
			return nil, err
		}
		b, err := parseObject(right, maxMerged)
		if err != nil {
			return nil, err
		}
		merged, err := mergeValues("", a, b)
		if err != nil {
			return nil, err
		}
		return formatObject(merged)
	},
}

// parseObject decodes one JSON object. An empty text is decoded as the empty object. The limit is
// that of parseEntries. Text that package json would change without an error is an error.
func parseObject(text []byte, limit int) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	if !utf8.Valid(text) {
		return nil, errors.New("want one JSON object, got text that is not UTF-8")
	}
	if err := surrogate.Check(text); err != nil {
		return nil, fmt.Errorf("want one JSON object, got %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var object json.RawMessage
	if err := d.Decode(&object); err != nil || object[0] != '{' {
		return nil, fmt.Errorf("want one JSON object, got %.100q: %w", text, cmp.Or(err, errNoObject))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("want one JSON object, got more after %d bytes", d.InputOffset())
	}
	d = json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	value, err := parseValue("", d, limit)
	if err != nil {
		return nil, err
	}
	return value.(map[string]any), nil
}

var errNoObject = errors.New("it is another value")

// parseMembers decodes the members of an object whose beginning was read. An object with two members
// of one name is an error, because one of them would be lost.
func parseMembers(path string, d *json.Decoder, limit int) (map[string]any, error) {
	object := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder has checked that the key is a string
		inside := path + "." + name
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("%s: two members have this name", inside)
		}
		if object[name], err = parseValue(inside, d, limit); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return object, err
}

// parseValue decodes a value. The decoder has a valid text, whose depth package json limits. A number
// becomes a decimal; it is an error if the number has more digits than the limit.
func parseValue(path string, d *json.Decoder, limit int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Number:
		number, condition, err := apd.NewFromString(string(v))
		if err != nil || condition.Any() || tooLarge(number, limit) {
			return nil, fmt.Errorf("%s: got the number %.100s, takes decimal numbers of at most %d digits", path, v, limit)
		}
		return number, nil
	case json.Delim:
		if v == '{' {
			return parseMembers(path, d, limit)
		}
		list := []any{}
		for d.More() {
			item, err := parseValue(fmt.Sprintf("%s[%d]", path, len(list)), d, limit)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}

// mergeValues merges two values. It may change both values.
func mergeValues(path string, a, b any) (any, error) {
	switch {
	case a == nil:
		return b, nil
	case b == nil:
		return a, nil
	}
	switch left := a.(type) {
	case map[string]any:
		if right, same := b.(map[string]any); same {
			return mergeObjects(path, left, right)
		}
	case []any:
		if right, same := b.([]any); same {
			return append(left, right...), nil
		}
	case *apd.Decimal:
		if right, same := b.(*apd.Decimal); same {
			_, err := exact.Add(left, left, right)
			return left, err
		}
	default:
		if a == b {
			return a, nil
		}
	}
	return nil, fmt.Errorf("%s: cannot merge %s with %s", path, describe(a), describe(b))
}

// mergeObjects merges two objects. It merges the keys in order, so that equal objects always give
// the same error.
func mergeObjects(path string, left, right map[string]any) (any, error) {
	for _, key := range sortedKeys(right) {
		merged, err := mergeValues(path+"."+key, left[key], right[key])
		if err != nil {
			return nil, err
		}
		left[key] = merged
	}
	return left, nil
}

func describe(value any) string {
	text, err := appendValue(nil, value)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.60s", text)
}

func formatObject(value any) ([]byte, error) { return appendValue(nil, value) }

// appendValue encodes a value with sorted keys and plain decimals.
func appendValue(text []byte, value any) (_ []byte, err error) {
	switch v := value.(type) {
	case map[string]any:
		text = append(text, '{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				text = append(text, ',')
			}
			if text, err = appendValue(text, key); err != nil {
				return nil, err
			}
			if text, err = appendValue(append(text, ':'), v[key]); err != nil {
				return nil, err
			}
		}
		return append(text, '}'), nil
	case []any:
		text = append(text, '[')
		for i, item := range v {
			if i > 0 {
				text = append(text, ',')
			}
			if text, err = appendValue(text, item); err != nil {
				return nil, err
			}
		}
		return append(text, ']'), nil
	case *apd.Decimal:
		return v.Append(text, 'f'), nil
	}
	var buffer bytes.Buffer
	e := json.NewEncoder(&buffer)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return append(text, bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'})...), nil
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
