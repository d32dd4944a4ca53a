package scan

import (
	"fmt"
	"time"
)

// timeOf returns the time of a text that is a timestamp or a date, in UTC.
func timeOf(text string) (t time.Time, err error) {
	if t, ok := commonTime(text); ok {
		return t, nil
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return t, fmt.Errorf("%.80q is no time: want a text such as '2026-11-22T21:04:00Z', '2026-11-22 21:04:00' or '2026-11-22'", text)
}

// commonTime returns the time of a text such as 2026-11-22 21:04:00 or 2026-11-22. For another text, ok is false.
func commonTime[T string | []byte](text T) (t time.Time, ok bool) {
	const form = "dddd-dd-dd?dd:dd:dd"
	if len(text) != len(form) && len(text) != len(dateShape) {
		return t, false
	}
	var numbers [6]int
	for i, part := 0, 0; i < len(text); i++ {
		switch c := text[i]; form[i] {
		case 'd':
			if c-'0' > 9 {
				return t, false
			}
			numbers[part] = 10*numbers[part] + int(c-'0')
		case '?':
			if c != ' ' && c != 'T' {
				return t, false
			}
			part++
		default:
			if c != form[i] {
				return t, false
			}
			part++
		}
	}
	year, month, day, hour, minute, second := numbers[0], time.Month(numbers[1]), numbers[2], numbers[3], numbers[4], numbers[5]
	t = time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	return t, t.Month() == month && t.Day() == day && hour < 24 && minute < 60 && second < 60
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
