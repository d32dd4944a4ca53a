// Package field checks the fields of configurations.
package field

import "fmt"

// Error is an error about a field of a configuration or of other options. A program that sets the
// field from a flag can name the flag instead.
type Error struct {
	Field string // name of the field, such as "Replicas"
	Value any    // value of the field; nil if the error's text does not show the value
	Want  string // values that the field takes
}

func (e *Error) Error() string {
	switch e.Value.(type) {
	case nil:
		return fmt.Sprintf("%s: want %s", e.Field, e.Want)
	case string, []string:
		return fmt.Sprintf("%s %q: want %s", e.Field, e.Value, e.Want)
	}
	return fmt.Sprintf("%s %v: want %s", e.Field, e.Value, e.Want)
}

// Check returns an [Error] unless ok is true. Its Want is formatted as by [fmt.Sprintf].
func Check(ok bool, name string, value any, want string, args ...any) error {
	if ok {
		return nil
	}
	return &Error{name, value, fmt.Sprintf(want, args...)}
}
