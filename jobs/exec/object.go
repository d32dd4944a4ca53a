package exec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
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
	join: func(left, right []byte) ([]byte, error) {
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
// that of parseEntries.
func parseObject(text []byte, limit int) (map[string]any, error) {
	value := map[string]any{}
	if len(bytes.TrimSpace(text)) == 0 {
		return value, nil
	}
	if !utf8.Valid(text) {
		return nil, errors.New("want one JSON object, got text that is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil || value == nil {
		return nil, fmt.Errorf("want one JSON object, got %.100q: %w", text, cause(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("want one JSON object, got more after %d bytes", d.InputOffset())
	}
	return value, checkNumbers("", value, limit)
}

// cause returns err, or an error for the value null if err is nil.
func cause(err error) error {
	if err == nil {
		return errors.New("it is null")
	}
	return err
}

// checkNumbers replaces the numbers in an object or an array by decimals, and returns an error if a
// number is too large.
func checkNumbers(path string, value any, limit int) error {
	replace := func(path string, item any) (any, error) {
		number, isNumber := item.(json.Number)
		if !isNumber {
			return item, checkNumbers(path, item, limit)
		}
		d, condition, err := apd.NewFromString(string(number))
		if err != nil || condition.Any() || tooLarge(d, limit) {
			return nil, fmt.Errorf("%s: got the number %.100s, takes decimal numbers of at most %d digits", path, number, limit)
		}
		return d, nil
	}
	var err error
	switch v := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) { // in order, so that equal objects always give the same error
			if v[key], err = replace(path+"."+key, v[key]); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if v[i], err = replace(fmt.Sprintf("%s[%d]", path, i), item); err != nil {
				return err
			}
		}
	}
	return nil
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
