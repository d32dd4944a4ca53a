package scan

import "strings"

// function is an aggregate function.
type function struct {
	code byte   // code in encoded tables, which must never change
	name string // first word of the aggregate in a query, unless word is set
	// word, if not nil, reports whether a word begins an aggregate of the function, and returns the
	// number that the word contains.
	word    func(word string) (number float64, ok bool)
	form    string // forms of the aggregate in a query
	most    int    // largest number after the column, as in top(x,n); 0 if no number follows the column
	takes   takes
	returns string // type of the results; those of numbersOrTexts are texts if a value is a text
	help    string // what the function computes
	note    string // note about the results; if some results may be exact, the note is about the others
	plain   bool   // true if plains contain all that the function needs
	new     func() states
}

// takes are the values that a function takes.
type takes uint8

const (
	rowsOrFields   takes = iota + 1 // rows, or all fields of a column
	fields                          // all fields
	numbers                         // numbers
	numbersOrTexts                  // either numbers or texts, but not both in one group
)

// functions is the table of the aggregate functions.
var functions = []function{
	{
		code: 0, name: "count", form: "count, count(x)", takes: rowsOrFields, returns: "integer",
		help: "rows, or values", plain: true, new: func() states { return new(counts) },
	},
	{
		code: 1, name: "sum", form: "sum(x)", takes: numbers, returns: "decimal",
		help: "exact", plain: true, new: func() states { return new(sums) },
	},
	{
		code: 2, name: "min", form: "min(x)", takes: numbersOrTexts, returns: "decimal",
		help: "of numbers, or of texts by bytes", plain: true, new: func() states { return &extremes{sign: -1} },
	},
	{
		code: 3, name: "max", form: "max(x)", takes: numbersOrTexts, returns: "decimal",
		help: "of numbers, or of texts by bytes", plain: true, new: func() states { return &extremes{sign: 1} },
	},
	{
		code: 4, name: "mean", form: "mean(x)", takes: numbers, returns: "float",
		help: "of exact sums, rounded once", plain: true, new: func() states { return &sums{mean: true} },
	},
	{
		code: 5, name: "var", form: "var(x)", takes: numbers, returns: "float",
		help: "of a sample, of exact sums", new: func() states { return new(variances) },
	},
	{
		code: 6, name: "stddev", form: "stddev(x)", takes: numbers, returns: "float",
		help: "square root of var(x)", new: func() states { return &variances{root: true} },
	},
	{
		code: 7, name: "distinct", form: "distinct(x)", takes: fields, returns: "integer",
		help: "HyperLogLog above 4096 values", note: distinctNote, new: func() states { return new(distincts) },
	},
	{
		code: 8, name: "quantile", word: quantile, form: "p50(x) to p99.9(x), median(x)", takes: numbers, returns: "float",
		help: "value of rank ⌈qn⌉; above 1024 values of bins", note: quantileNote, new: func() states { return new(histograms) },
	},
	{
		code: 9, name: "top", form: "top(x,n)", most: maxTop, takes: fields, returns: "text",
		help: "n most frequent values, with their counts", note: topNote, new: func() states { return new(tops) },
	},
	{
		code: 10, name: "exact_distinct", form: "exact_distinct(x)", takes: fields, returns: "integer",
		help: "exact for any number of values", new: func() states { return new(valueSets) },
	},
}

// functionOf returns the function with a code, or nil.
func functionOf(code byte) *function {
	for i := range functions {
		if functions[i].code == code {
			return &functions[i]
		}
	}
	return nil
}

// functionNamed returns the function that a word of a query names, or nil, and the number in the word.
func functionNamed(word string) (f *function, number float64) {
	for i := range functions {
		f = &functions[i]
		if f.word == nil {
			if f.name == word {
				return f, 0
			}
		} else if number, ok := f.word(word); ok {
			return f, number
		}
	}
	return nil, 0
}

// forms lists the forms of all aggregates.
func forms() string {
	var list []string
	for _, f := range functions {
		list = append(list, f.form)
	}
	return strings.Join(list, ", ")
}

// approximates reports whether the results are not always exact.
func (f *function) approximates() bool {
	_, ok := f.new().(approximate)
	return ok
}
