// Package human formats durations, times, counts, sizes and rates for people.
package human

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Duration formats a duration with few digits, such as 1.234s, 2m5s or 3h20m0s.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Age formats the time since an event with one unit, such as 12s, 3m, 5h or 8d.
func Age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Time formats a time for a table, as local time without fractions of a second.
func Time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// FirstLine returns the first line of s. The first line of a panic's error omits the stack trace.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Percent returns the percentage of all that is done, rounded down, so that it is 100 only at the end.
func Percent(done, all uint64) int {
	return int(100 * float64(done) / float64(all))
}

// Rate formats a rate with at most three digits.
func Rate(perSecond float64) string {
	if perSecond < 1000 {
		return fmt.Sprintf("%.3g", perSecond)
	}
	value, prefix := humanize.ComputeSI(perSecond)
	return fmt.Sprintf("%.3g%s", value, prefix)
}

// Count formats a count with commas, such as 1,234,567.
func Count[N int | int64 | uint64](n N) string { return humanize.Comma(int64(n)) }

// Size formats a size in bytes with a decimal unit, such as 2.0 GB.
func Size[N int | int64 | uint64 | float64](bytes N) string { return humanize.Bytes(uint64(bytes)) }
