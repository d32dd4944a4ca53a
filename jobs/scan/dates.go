package scan

import (
	"fmt"
	"time"
)

// timeOf returns the time of a text that is a timestamp or a date, in UTC.
func timeOf(text string) (t time.Time, err error) {
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return t, fmt.Errorf("%.80q is no time: want a text such as '2026-11-22T21:04:00Z', '2026-11-22 21:04:00' or '2026-11-22'", text)
}

// partOf returns a function of a time whose result is a number.
func partOf(part func(t time.Time) int) func(m *meter, args []any) (any, error) {
	return func(_ *meter, args []any) (any, error) {
		t, err := timeOf(args[0].(string))
		if err != nil {
			return nil, err
		}
		return float64(part(t)), nil
	}
}

// truncate returns the beginning of the unit that contains a time. Weeks begin on Monday.
func truncate(unit string, t time.Time) (time.Time, error) {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	switch unit {
	case "year":
		month, day, hour, minute, second = 1, 1, 0, 0, 0
	case "month":
		day, hour, minute, second = 1, 0, 0, 0
	case "week":
		day, hour, minute, second = day-(int(t.Weekday())+6)%7, 0, 0, 0
	case "day":
		hour, minute, second = 0, 0, 0
	case "hour":
		minute, second = 0, 0
	case "minute":
		second = 0
	case "second":
	default:
		return t, fmt.Errorf("%.80q is no unit: want year, month, week, day, hour, minute or second", unit)
	}
	return time.Date(year, month, day, hour, minute, second, 0, time.UTC), nil
}

// dateTrunc returns a date for a date, and otherwise a timestamp in the form of Parquet objects.
func dateTrunc(_ *meter, args []any) (any, error) {
	text := args[1].(string)
	t, err := timeOf(text)
	if err != nil {
		return nil, err
	}
	if t, err = truncate(args[0].(string), t); err != nil {
		return nil, err
	}
	if len(text) == len(time.DateOnly) {
		return t.Format(time.DateOnly), nil
	}
	return t.Format(time.RFC3339), nil
}

// dateDiff returns the number of units whose beginnings are after the first time and not after the second.
// The number is negative if the second time is earlier.
func dateDiff(_ *meter, args []any) (any, error) {
	unit := args[0].(string)
	var begins [2]time.Time
	for i, text := range args[1:] {
		t, err := timeOf(text.(string))
		if err != nil {
			return nil, err
		}
		if begins[i], err = truncate(unit, t); err != nil {
			return nil, err
		}
	}
	from, to := begins[0], begins[1]
	months := 12*(to.Year()-from.Year()) + int(to.Month()) - int(from.Month())
	switch unit {
	case "year":
		return float64(months / 12), nil
	case "month":
		return float64(months), nil
	}
	seconds := map[string]int64{"week": 7 * 86400, "day": 86400, "hour": 3600, "minute": 60, "second": 1}[unit]
	return float64((to.Unix() - from.Unix()) / seconds), nil
}
