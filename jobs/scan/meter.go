package scan

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/vm/runtime"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/internal/portable"
)

// The following limits are for the part of a condition that package expr evaluates for one record, such as
// a loop over the parts of a field in a loop. Each value that is used, and each byte of it, is a step.
const (
	maxSteps     = 16 << 20
	stepsOfByte  = 1000      // number of steps that are added for each byte of the fields
	maxMade      = 256 << 20 // maximum number of bytes of the texts and lists that are made
	maxPattern   = 1000      // maximum number of bytes of a regular expression in a column
	bytesOfValue = 16        // memory for a value in a list, beside the bytes of a text
)

// meter counts the steps and the bytes of a condition. The nodes of the condition call its functions, whose
// names no condition can contain.
type meter struct {
	steps, made int64 // numbers that are left for the record
	err         error // the limit that the record has exceeded

	constants map[string]*matcher // regular expressions of the condition
	last      *matcher            // regular expression that a column had last
	member    *dataset.JSONMember // member that the function json had last
}

// matcher is a compiled regular expression.
type matcher struct {
	pattern string
	regexp  *regexp.Regexp
	cost    int64 // number of instructions, which may be many more than the bytes
}

func newMeter() *meter { return &meter{constants: map[string]*matcher{}} }

// config returns a configuration with the functions of the meter.
func (m *meter) config() *conf.Config {
	c := conf.CreateNew()
	c.Strict = false
	add := func(name string, f func(args ...any) (any, error)) {
		c.Functions[name] = &builtin.Function{Name: name, Func: f}
	}
	add("#use", func(args ...any) (any, error) { return args[0], m.use(size(args[0], m.steps)) })
	add("#make", func(args ...any) (any, error) {
		n := size(args[0], m.made)
		if err := m.make(n); err != nil {
			return nil, err
		}
		return args[0], m.use(n)
	})
	for i := range scalars {
		f := &scalars[i]
		add("#"+f.name, func(args ...any) (any, error) { return f.run(m, args) })
	}
	add("#matches", m.matches)
	add("#+", m.add)
	add("#**", func(args ...any) (any, error) {
		return portable.Pow(runtime.ToFloat64(args[0]), runtime.ToFloat64(args[1])), nil
	})
	add("#int", func(args ...any) (any, error) {
		if x, ok := args[0].(float64); ok && !(x >= -1<<63 && x < 1<<63) { // processors convert such numbers in different ways
			return nil, fmt.Errorf("int(%v): want a number from -2^63 to 2^63-1", x)
		}
		return builtin.Int(args[0]), nil
	})
	for name, check := range map[string]func(args []any) error{"repeat": m.repeat, "replace": m.replace, "join": m.join, "split": m.split, "splitAfter": m.split, "uniq": m.uniq} {
		f := builtin.Builtins[builtin.Index[name]]
		add("#"+name, func(args ...any) (result any, err error) {
			if err := check(args); err != nil {
				return nil, err
			}
			if f.Safe != nil {
				result, _, err = f.Safe(args...)
				return result, err
			}
			return f.Func(args...)
		})
	}
	return c
}

// Visit implements ast.Visitor. It makes nodes call the functions of the meter.
func (m *meter) Visit(node *ast.Node) {
	call := func(name string, args ...ast.Node) ast.Node {
		return &ast.CallNode{Callee: &ast.IdentifierNode{Value: "#" + name}, Arguments: args}
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode, *ast.PointerNode:
		*node = call("use", *node)
	case *ast.PredicateNode: // counts the passes of a loop
		n.Node = call("use", n.Node)
	case *ast.ArrayNode, *ast.MapNode:
		*node = call("make", *node)
	case *ast.BinaryNode:
		switch n.Operator {
		case "+":
			*node = call("+", n.Left, n.Right)
		case "**", "^": // package expr calls math.Pow
			*node = call("**", n.Left, n.Right)
		case "matches":
			m.keep(n.Right)
			*node = call("matches", n.Left, n.Right)
		}
	case *ast.BuiltinNode:
		switch n.Name {
		case "int", "repeat", "replace", "join", "split", "splitAfter", "uniq":
			*node = call(n.Name, n.Arguments...)
		}
		if scalarNamed(n.Name) != nil {
			if n.Name == "regexp_replace" {
				m.keep(n.Arguments[1])
			}
			*node = call(n.Name, n.Arguments...)
		}
		*node = call("make", *node)
	}
}

// keep compiles a constant regular expression of the condition. An error was reported before.
func (m *meter) keep(pattern ast.Node) {
	if s, ok := pattern.(*ast.StringNode); ok {
		m.constants[s.Value], _ = compile(s.Value)
	}
}

// begin begins a record with a number of bytes in its fields.
func (m *meter) begin(bytes int) {
	m.steps, m.made, m.err = maxSteps+stepsOfByte*int64(bytes), maxMade, nil
}

func (m *meter) use(steps int64) error {
	if m.steps -= steps + 1; m.steps < 0 {
		m.err = fmt.Errorf("the condition takes more than %d steps and %d for each byte of the fields: want a simpler condition", maxSteps, stepsOfByte)
	}
	return m.err
}

func (m *meter) make(bytes int64) error {
	if m.made -= bytes; m.made < 0 {
		m.err = fmt.Errorf("the condition makes texts and lists of more than %d bytes of one record: want a simpler condition", maxMade)
	}
	return m.err
}

// check returns an error if a value of a number of bytes cannot be made.
func (m *meter) check(bytes int64) error {
	if bytes > m.made {
		return m.make(bytes)
	}
	return nil
}

// size returns the number of bytes of a value. It stops above most, because values may contain a list many
// times.
func size(v any, most int64) (n int64) {
	switch v := v.(type) {
	case string:
		return int64(len(v))
	case []string:
		for _, one := range v {
			n += int64(len(one)) + bytesOfValue
		}
	case []int:
		return bytesOfValue * int64(len(v))
	case []float64:
		return bytesOfValue * int64(len(v))
	case []any:
		for _, one := range v {
			if n += bytesOfValue + size(one, most-n); n > most {
				break
			}
		}
	case map[string]any:
		for key, one := range v {
			if n += bytesOfValue + int64(len(key)) + size(one, most-n); n > most {
				break
			}
		}
	}
	return n
}

// matches is the operator matches.
func (m *meter) matches(args ...any) (any, error) {
	text, isText := args[0].(string)
	pattern, ok := args[1].(string)
	if !isText || !ok {
		return nil, fmt.Errorf("invalid operation: %T matches %T", args[0], args[1])
	}
	one, err := m.matcher(pattern)
	if err != nil {
		return nil, err
	}
	if err := m.use(one.cost * int64(len(text))); err != nil {
		return nil, err
	}
	return one.regexp.MatchString(text), nil
}

// matcher returns a compiled regular expression.
func (m *meter) matcher(pattern string) (*matcher, error) {
	if one := m.constants[pattern]; one != nil {
		return one, nil
	}
	if m.last != nil && m.last.pattern == pattern {
		return m.last, nil
	}
	return m.compile(pattern)
}

// compile compiles a regular expression of a column.
func (m *meter) compile(pattern string) (one *matcher, err error) {
	if len(pattern) > maxPattern {
		m.err = fmt.Errorf("a regular expression has %d bytes: want at most %d in a column", len(pattern), maxPattern)
		return nil, m.err
	}
	if one, err = compile(pattern); err != nil {
		return nil, err
	}
	m.last = one
	return one, m.use(100 * one.cost)
}

func compile(pattern string) (*matcher, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	one := &matcher{pattern: pattern, cost: int64(len(program.Inst))}
	one.regexp, err = regexp.Compile(pattern)
	return one, err
}

// add is the operator +.
func (m *meter) add(args ...any) (any, error) {
	if a, ok := args[0].(string); ok {
		if b, ok := args[1].(string); ok {
			n := int64(len(a)) + int64(len(b))
			if err := m.make(n); err != nil {
				return nil, err
			}
			if err := m.use(n); err != nil {
				return nil, err
			}
		}
	}
	return runtime.Add(args[0], args[1]), nil
}

func (m *meter) repeat(args []any) error {
	text, _ := args[0].(string)
	n := max(0, min(int64(runtime.ToInt(args[1])), math.MaxInt32))
	return m.check(n * int64(len(text)))
}

func (m *meter) replace(args []any) error {
	if len(args) < 3 {
		return nil
	}
	text, _ := args[0].(string)
	from, _ := args[1].(string)
	to, _ := args[2].(string)
	n := int64(strings.Count(text, from))
	if len(args) > 3 {
		if most := int64(runtime.ToInt(args[3])); most >= 0 {
			n = min(n, most)
		}
	}
	return m.check(int64(len(text)) + n*int64(len(to)))
}

func (m *meter) join(args []any) error {
	glue := ""
	if len(args) > 1 {
		glue, _ = args[1].(string)
	}
	total := size(args[0], m.made)
	switch list := args[0].(type) {
	case []string:
		total += int64(len(list)) * int64(len(glue))
	case []any:
		total += int64(len(list)) * int64(len(glue))
	}
	return m.check(total)
}

func (m *meter) split(args []any) error {
	text, _ := args[0].(string)
	at := ""
	if len(args) > 1 {
		at, _ = args[1].(string)
	}
	n := utf8.RuneCountInString(text)
	if at != "" {
		n = strings.Count(text, at) + 1
	}
	return m.check(int64(n)*bytesOfValue + int64(len(text)))
}

// uniq compares all pairs of values.
func (m *meter) uniq(args []any) error {
	n := size(args[0], m.steps)
	return m.use(n / bytesOfValue * n)
}
