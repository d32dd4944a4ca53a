package jobs

import "fmt"

// FieldError is an error about a field of a configuration or of other options. A program that sets
// the field from a flag can name the flag instead.
type FieldError struct {
	Field string // name of the field, such as "Replicas"
	Value any    // value of the field
	Want  string // values that the field takes
}

func (e *FieldError) Error() string {
	format := "%s %v: want %s"
	switch e.Value.(type) {
	case string, []string:
		format = "%s %q: want %s"
	}
	return fmt.Sprintf(format, e.Field, e.Value, e.Want)
}
