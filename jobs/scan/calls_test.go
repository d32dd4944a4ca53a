package scan

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/expr-lang/expr/ast"
)

// TestCompiledLike compares the compiled function like with the one that package expr calls.
func TestCompiledLike(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	draw := func(letters string) string {
		var b strings.Builder
		for range random.IntN(7) {
			b.WriteString(string([]rune(letters)[random.IntN(len([]rune(letters)))]))
		}
		return b.String()
	}
	if _, ok := compileLike(&ast.BuiltinNode{Name: "like", Arguments: []ast.Node{&ast.IdentifierNode{Value: "x"}, &ast.StringNode{Value: "a_"}}}, nil); ok {
		t.Error("a pattern with _ is compiled")
	}
	for range 10_000 {
		text, pattern := draw("aab%ü"), draw("aab%%%ü")
		is, ok := compileLike(&ast.BuiltinNode{Name: "like", Arguments: []ast.Node{&ast.IdentifierNode{Value: "x"}, &ast.StringNode{Value: pattern}}}, func(string) int { return 0 })
		if !ok {
			t.Fatalf("the pattern %q is not compiled", pattern)
		}
		v := newValues([]string{"x"})
		v.setCells([]cell{{kind: isString, text: text}})
		got, err := is(v)
		m := newMeter()
		m.begin(100)
		want, wantErr := m.like([]any{text, pattern})
		if err != nil || wantErr != nil || got != want {
			t.Fatalf("like(%q, %q) is %v, %v, want %v, %v", text, pattern, got, err, want, wantErr)
		}
	}
}

// TestCommonTime compares commonTime with package time.
func TestCommonTime(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	valid := 0
	for range 100_000 {
		text := []byte("2024-02-29 23:59:59")[:[]int{10, 19, 19, 18}[random.IntN(4)]]
		for range random.IntN(3) {
			text[random.IntN(len(text))] = "0123456789-:TZ"[random.IntN(14)]
		}
		got, ok := commonTime(text)
		var want time.Time
		err := error(nil)
		for _, form := range []string{"2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
			if want, err = time.Parse(form, string(text)); err == nil {
				break
			}
		}
		if ok != (err == nil) || ok && !got.Equal(want) {
			t.Fatalf("%s: got %v, %v, want %v, %v", text, got, ok, want, err)
		}
		if ok {
			valid++
		}
	}
	if valid < 1000 {
		t.Errorf("only %d times were valid", valid)
	}
}
