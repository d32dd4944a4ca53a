package scan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// Params contains the parameters of the job scan.
type Params struct {
	dataset.Input `last:"on-error block"`

	Where     string `json:"where" help:"which rows count, such as: status >= 500 and host != 'a'; a name with spaces or dashes: $env[\"unit price\"] > 5"`
	Let       string `json:"let" help:"columns to compute, separated by semicolons, such as: month = ts[0:7]; total = price * amount"`
	By        string `json:"by" help:"columns whose values form the groups, separated by commas"`
	Aggregate string `json:"aggregate"`
	Having    string `json:"having" help:"which rows of the result count, such as: count > 10 and sum(fare) >= 500"`
	Columns   string `json:"columns" help:"without aggregate: the columns of the rows to return, separated by commas; empty: all"`
	Order     string `json:"order" help:"columns of the result to sort by, separated by commas; - before a name: descending"`
	Limit     uint64 `json:"limit" help:"the number of rows to return; 0: all"`
	Offset    uint64 `json:"offset" help:"the number of rows before those to return"`
	Output    string `json:"output" help:"the folder for the rows of the result, named like the objects of input; empty: the rows are the result"`

	OutputFormat string `json:"output-format" oneof:"csv ndjson parquet" help:"the format of the objects of the output"`
	Types        string `json:"types,omitempty" help:"types of columns of the output in ndjson and parquet, separated by commas, such as: amount:decimal(10,2), ts:timestamp"`
}

// Describe implements jobs.Describer, for the parameter aggregate.
func (Params) Describe(parameter string) string {
	if parameter != "aggregate" {
		return ""
	}
	return "what to compute for each group: " + forms()
}

// Validate returns an error if the parameters are invalid or contradict each other. The
// Validate of the embedded Input is called too.
func (p *Params) Validate() error {
	if err := p.checkOutput(); err != nil {
		return err
	}
	q, err := newQuery(*p)
	if err != nil {
		return err
	}
	if len(q.types) > 0 && (p.Output == "" || p.OutputFormat == string(output.CSV)) {
		return errors.New("parameter types: want the parameters output and output-format=parquet or ndjson too, because other results are text")
	}
	if len(q.aggregates) == 0 {
		switch {
		case len(q.by) > 0:
			return errors.New("parameter by: want the parameter aggregate too, such as aggregate=count")
		case p.Format == "ndjson" && len(q.columns) == 0:
			return errors.New("parameter columns: want the members to return, because JSON objects have no common list of them")
		case p.Output != "" && (q.limit > maxRows || q.limit == 0 && len(q.order) > 0):
			return fmt.Errorf("parameters order and limit: with output and without aggregate want a limit of at most %d, because such rows stay in memory", maxRows)
		case q.offset > 0 && p.Output != "" && q.limit == 0:
			return errors.New("parameter offset: with output and without aggregate want the parameter limit too")
		case q.offset > maxRows || q.offset > 0 && q.limit > maxRows-q.offset:
			return fmt.Errorf("parameters offset and limit: without aggregate want a sum of at most %d, because such rows stay in memory", maxRows)
		}
		return nil
	}
	if len(q.columns) > 0 {
		return errors.New("parameters aggregate and columns exclude each other: the result has the columns of by and aggregate")
	}
	if q.offset > 0 && len(q.by) == 0 {
		return errors.New("parameter offset: want the parameter by too, because the result without by is one row")
	}
	var columns []string
	for _, c := range q.resultColumns() {
		columns = append(columns, c.Name)
	}
	_, err = q.rowOrder(columns)
	return err
}

// rowOrder returns the order of rows with the given columns.
func (q query) rowOrder(columns []string) (order []rowOrder, err error) {
	if len(q.order) == 0 {
		return nil, nil
	}
	positions := names.Positions(columns)
	for _, o := range q.order {
		at, ok := positions[o.name]
		if !ok {
			return nil, fmt.Errorf("parameter order, of the result's columns: %w", names.Missing(o.name, columns))
		}
		order = append(order, rowOrder{at, o.descending})
	}
	return order, nil
}

// query is the parsed form of the parameters.
type query struct {
	where      *condition // condition that selects rows; nil selects all rows
	let        []derived
	by         []string
	aggregates []aggregate
	columns    []string
	order      []ordering
	limit      uint64
	offset     uint64       // number of rows that are dropped before the limit applies
	having     *having      // condition that selects rows of the result; nil selects all
	types      []columnType // types of columns of the output
	output     bool         // the rows are written to an output
	unsorted   bool         // the groups of the result are in the order of the bytes of their keys, as in runs
}

// ordering is a column of the result by which the rows are sorted.
type ordering struct {
	name       string
	descending bool
}

func newQuery(p Params) (q query, err error) {
	q = query{by: list(p.By), columns: list(p.Columns), limit: p.Limit, offset: p.Offset, output: p.Output != ""}
	if q.aggregates, err = parseAggregates(p.Aggregate); err != nil {
		return q, fmt.Errorf("parameter aggregate: %w", err)
	}
	if q.let, err = parseLet(p.Let); err != nil {
		return q, err
	}
	if q.types, err = parseTypes(p.Types); err != nil {
		return q, err
	}
	if strings.TrimSpace(p.Where) != "" {
		if q.where, err = parseCondition(p.Where); err != nil {
			return q, fmt.Errorf("parameter where: %w", err)
		}
	}
	if strings.TrimSpace(p.Having) != "" {
		if len(q.aggregates) == 0 {
			return q, errors.New("parameter having: want the parameter aggregate too, or where for a condition on records")
		}
		if q.having, err = q.parseHaving(p.Having); err != nil {
			return q, err
		}
	}
	for _, name := range splitOutside(p.Order) {
		bare, descending := strings.CutPrefix(name, "-")
		q.order = append(q.order, ordering{strings.TrimSpace(bare), descending})
	}
	q.unsorted = q.output && len(q.order) == 0 && q.limit == 0 && q.offset == 0
	return q, q.checkLengths()
}

// maxListed is the maximum number of names in each of the parameters let, by, aggregate and order. Each group
// has a state of each aggregate, and the groups are sorted once for each name in order.
const maxListed = 1000

func (q query) checkLengths() error {
	for _, list := range []struct {
		parameter string
		length    int
	}{{"let", len(q.let)}, {"by", len(q.by)}, {"aggregate", len(q.aggregates)}, {"order", len(q.order)}} {
		if list.length > maxListed {
			return fmt.Errorf("parameter %s: there are %d names: want at most %d", list.parameter, list.length, maxListed)
		}
	}
	return nil
}

// list splits a text at its commas into names.
func list(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// splitOutside splits a text at the commas outside parentheses.
func splitOutside(text string) (parts []string) {
	depth, begin := 0, 0
	for i, c := range text + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && (depth == 0 || i == len(text)):
			if part := strings.TrimSpace(text[begin:i]); part != "" {
				parts = append(parts, part)
			}
			begin = i + 1
		}
	}
	return parts
}

// inputColumns returns the columns that the query reads, without duplicates. Nil means all columns.
func (q query) inputColumns() []string {
	if len(q.aggregates) == 0 && len(q.columns) == 0 {
		return nil
	}
	columns := slices.Concat(q.by, q.columns)
	for _, a := range q.aggregates {
		if a.column != "" {
			columns = append(columns, a.column)
		}
	}
	if q.where != nil {
		columns = append(columns, q.where.columns...)
	}
	if len(q.aggregates) == 0 {
		for _, o := range q.order {
			columns = append(columns, o.name)
		}
	}
	unique, known, derived := []string{}, map[string]bool{}, q.letNames()
	columns = slices.DeleteFunc(columns, func(name string) bool { return slices.Contains(derived, name) })
	for _, name := range append(columns, q.letInputs()...) {
		if !known[name] {
			known[name] = true
			unique = append(unique, name)
		}
	}
	return unique
}
