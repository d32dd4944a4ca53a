package scan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// having is the value of the parameter having: a condition on the rows of the result. It contains the
// aggregates as the result names them, such as sum(fare), which package expr would read as calls of its
// own functions. Identifiers therefore replace them before the condition is parsed.
type having struct {
	condition *condition
	columns   []string       // names of the result's columns
	positions map[string]int // column of the result for each identifier
	restore   *strings.Replacer
}

func (q query) parseHaving(source string) (*having, error) {
	h := &having{positions: map[string]int{}}
	for i, c := range q.resultColumns() {
		h.columns = append(h.columns, c.Name)
		if i < len(q.by) {
			h.positions[c.Name] = i
		}
	}
	replaced := h.replaceAggregates(source, q)
	if !slices.Contains(h.columns, "count") && mentions(source, "count") { // package expr would take it for its function count
		return nil, h.missing("count")
	}
	c, err := parseCondition(replaced)
	if err != nil {
		return nil, h.explain(err)
	}
	c.prefix = ""
	for _, name := range c.columns {
		if _, ok := h.positions[name]; !ok {
			return nil, h.missing(name)
		}
	}
	h.condition = c
	return h, nil
}

// replaceAggregates replaces each aggregate of the query with an identifier that no column has. The
// identifier has the length of the aggregate, so that positions in errors are those in the source.
func (h *having) replaceAggregates(source string, q query) string {
	longest, identifiers, pairs := make([]int, len(q.aggregates)), make([]string, len(q.aggregates)), []string{}
	for i, a := range q.aggregates {
		identifier := fmt.Sprintf("$%d", i)
		identifier += strings.Repeat("_", max(1, utf8.RuneCountInString(a.text)-len(identifier)))
		longest[i], identifiers[i] = i, identifier
		h.positions[identifier] = len(q.by) + i
		pairs = append(pairs, identifier, a.text)
	}
	h.restore = strings.NewReplacer(pairs...)
	slices.SortStableFunc(longest, func(a, b int) int {
		return cmp.Compare(len(q.aggregates[b].text), len(q.aggregates[a].text))
	})
	var replaced strings.Builder
	end := 0 // end of the replaced part of the source
	for at := range outsideTexts(source) {
		if at < end || at > 0 && inWord(source[at-1]) {
			continue
		}
		for _, i := range longest {
			if rest, ok := cutWord(source[at:], q.aggregates[i].text); ok {
				replaced.WriteString(source[end:at] + identifiers[i])
				end = len(source) - len(rest)
				break
			}
		}
	}
	return replaced.String() + source[end:]
}

// mentions reports whether a source contains a word outside of texts, and not as the name of a function.
func mentions(source, word string) bool {
	for at := range outsideTexts(source) {
		if _, ok := cutWord(source[at:], word); ok && (at == 0 || !inWord(source[at-1])) {
			return true
		}
	}
	return false
}

// cutWord returns what follows a word at the beginning of a source.
func cutWord(source, word string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(source, word)
	return rest, ok && (rest == "" || !inWord(rest[0]) && rest[0] != '(')
}

// inWord reports whether a byte can be a part of an identifier.
func inWord(c byte) bool {
	return c == '_' || c == '$' || c >= utf8.RuneSelf || c-'0' <= 9 || c|0x20-'a' < 26
}

// explain returns an error with the aggregates in place of their identifiers.
func (h *having) explain(err error) error {
	return errors.New("parameter having: " + h.restore.Replace(err.Error()))
}

func (h *having) missing(name string) error {
	return h.explain(fmt.Errorf("%w; an aggregate must also be in the parameter aggregate", names.Missing(name, h.columns)))
}

// open returns a function that reports whether a row is in the result. Only one goroutine may call it.
func (h *having) open() (func(line []cell) (bool, error), error) {
	is, err := h.condition.compile(func(name string) int { return h.positions[name] })
	if err != nil {
		return nil, h.explain(err)
	}
	v := newValues(h.columns)
	return func(line []cell) (bool, error) {
		v.setCells(line)
		ok, err := is(v)
		if err != nil {
			return false, jobs.Permanent(fmt.Errorf("%w, in the row %s", h.explain(err), rowText(line)))
		}
		return ok, nil
	}, nil
}

// rowText returns the values of a row for an error.
func rowText(line []cell) string {
	list := make([]string, len(line))
	for i, c := range line {
		list[i] = c.String()
	}
	return names.List(list)
}
