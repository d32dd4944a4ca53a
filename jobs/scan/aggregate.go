package scan

import (
	"fmt"
	"strconv"
	"strings"
)

// aggregate describes an aggregate that the query computes for each group of rows.
type aggregate struct {
	*function
	text   string  // text of the aggregate in the parameter
	column string  // column of the aggregate; empty for the number of rows
	number float64 // number in the text, such as 0.99 of p99(x) and 10 of top(x,10)
}

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
	word, rest, hasColumn := strings.Cut(text, "(")
	word = strings.TrimSpace(word)
	a.text = text
	if hasColumn {
		column, ok := strings.CutSuffix(rest, ")")
		if a.column = strings.TrimSpace(column); !ok || a.column == "" {
			return a, fmt.Errorf("%q: want a column in parentheses", text)
		}
	}
	a.function, a.number = functionNamed(word)
	switch {
	case a.function == nil:
		return a, fmt.Errorf("%q: want %s", text, forms())
	case a.most > 0:
		return a, a.cutNumber()
	case a.column == "" && a.takes != rowsOrFields:
		return a, fmt.Errorf("%q: want a column, such as %s(x)", text, word)
	}
	return a, nil
}

// cutNumber removes the number after the column from the column.
func (a *aggregate) cutNumber() error {
	column, number, _ := strings.Cut(a.column, ",")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	a.column, a.number = strings.TrimSpace(column), float64(n)
	if err != nil || n < 1 || n > a.most || a.column == "" {
		return fmt.Errorf("%q: want a column and a number of values from 1 to %d, such as %s(x,10)", a.text, a.most, a.name)
	}
	return nil
}
