package scan

import (
	"fmt"
	"strconv"
	"strings"
)

// aggregate describes an aggregate that the query computes for each group of rows.
type aggregate struct {
	text     string // text of the aggregate in the parameter
	function string // name of the function, which is a key of functions
	column   string // column of the aggregate; empty for the number of rows
	quantile float64
	top      int // number of values of the function top
}

// functions contains the aggregate functions, with the type of the result and a note about the
// result.
var functions = map[string]struct{ typ, note string }{
	"count":    {"integer", ""},
	"sum":      {"decimal", ""},
	"min":      {"", ""}, // the type is text or decimal, depending on the values of the column
	"max":      {"", ""},
	"mean":     {"float", ""},
	"var":      {"float", ""},
	"stddev":   {"float", ""},
	"distinct": {"integer", distinctNote},
	"quantile": {"float", quantileNote},
	"top":      {"text", topNote},
}

const wantAggregate = "want count, count(x), sum(x), min(x), max(x), mean(x), var(x), stddev(x), distinct(x), top(x,n) or a quantile such as p50(x) and p99.9(x)"

func parseAggregates(text string) (all []aggregate, err error) {
	for _, part := range splitOutside(text) {
		a, err := parseAggregate(part)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

func parseAggregate(text string) (a aggregate, err error) {
	name, rest, hasColumn := strings.Cut(text, "(")
	a = aggregate{text: text, function: strings.TrimSpace(name)}
	if hasColumn {
		column, ok := strings.CutSuffix(rest, ")")
		if a.column = strings.TrimSpace(column); !ok || a.column == "" {
			return a, fmt.Errorf("%q: want a column in parentheses", text)
		}
	}
	if a.function == "top" {
		column, number, _ := strings.Cut(a.column, ",")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if a.column, a.top = strings.TrimSpace(column), n; err != nil || n < 1 || n > maxTop || a.column == "" {
			return a, fmt.Errorf("%q: want a column and a number of values from 1 to %d, such as top(x,10)", text, maxTop)
		}
		return a, nil
	}
	if percent, ok := strings.CutPrefix(a.function, "p"); ok && strings.Trim(percent, "0123456789.") == "" {
		// The division is a part of the text, because the quotient of floats may be another decimal.
		if q, err := strconv.ParseFloat(percent+"e-2", 64); err == nil && q <= 1 {
			a.function, a.quantile = "quantile", q
		}
	} else if a.function == "median" {
		a.function, a.quantile = "quantile", 0.5
	}
	if _, ok := functions[a.function]; !ok || a.function == "quantile" && !strings.HasPrefix(name, "p") && name != "median" {
		return a, fmt.Errorf("%q: %s", text, wantAggregate)
	}
	if a.column == "" && a.function != "count" {
		return a, fmt.Errorf("%q: want a column, such as %s(x)", text, name)
	}
	return a, nil
}

// numeric reports whether the values of the column must be numbers.
func (a aggregate) numeric() bool {
	switch a.function {
	case "sum", "mean", "var", "stddev", "quantile":
		return true
	}
	return false
}

// extreme reports whether the aggregate is a minimum or a maximum.
func (a aggregate) extreme() bool { return a.function == "min" || a.function == "max" }

// approximate reports whether the results are not always exact.
func (a aggregate) approximate() bool { return a.function == "distinct" || a.function == "quantile" }
