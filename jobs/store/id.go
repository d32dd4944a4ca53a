package store

import (
	"crypto/rand"
	"regexp"
	"strings"
	"time"
)

// A job ID consists of a time and a random number. In an ID, each digit stands for five bits, and digits sort
// like their values. The first nine digits are the milliseconds since 1970, up to the year 3084. The other
// seven digits are random: two IDs made in the same millisecond are equal with probability 2^-35.
const (
	idDigits     = "0123456789abcdefghijklmnopqrstuv"
	idTimeDigits = 9
	idLength     = 16
)

var idForm = regexp.MustCompile(`^[0-9a-v]{16}$`)

// NewID returns a new job ID: 16 lower-case letters and digits. IDs made in different
// milliseconds sort by time.
func NewID(now time.Time) string {
	var id [idLength]byte
	_, _ = rand.Read(id[idTimeDigits:]) // rand.Read of crypto/rand never returns an error
	for i := idTimeDigits; i < idLength; i++ {
		id[i] = idDigits[id[i]%32]
	}
	millis := now.UnixMilli()
	for i := idTimeDigits - 1; i >= 0; i-- {
		id[i] = idDigits[millis&31]
		millis >>= 5
	}
	return string(id[:])
}

// TimeOf returns the time in a valid ID.
func TimeOf(id string) time.Time {
	var millis int64
	for _, digit := range id[:idTimeDigits] {
		millis = millis<<5 | int64(strings.IndexRune(idDigits, digit))
	}
	return time.UnixMilli(millis)
}

// ValidID reports whether id has the form of a job ID.
func ValidID(id string) bool { return idForm.MatchString(id) }
