package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Range and Lots are embedded in the parameter structs of the tests.
type Range struct {
	Low  int64 `json:"low" min:"0" help:"the first number"`
	High int64 `json:"high" help:"the last number"`
}

func (r *Range) Validate() error {
	if r.High < r.Low {
		return errors.New("parameters low and high: want low at most high")
	}
	return nil
}

type Lots struct {
	Step int64 `json:"step" min:"1"`
	Word
}

func (l Lots) Validate() error {
	if l.Step == 13 {
		return errors.New("parameter step: 13 is not allowed")
	}
	return nil
}

func (*Lots) Describe(parameter string) string { return "the " + parameter }

type Word struct {
	Text string `json:"word"`
}

type sieve struct {
	Range `last:"low"`
	Name  string `json:"name"`
	Lots
}

func (s sieve) Validate() error {
	if s.Name == "" && s.Low > 0 {
		return errors.New("parameter name: want a name if low is above 0")
	}
	return nil
}

func definitionOf[P any](defaults P) Definition[P, int, int] {
	return Definition[P, int, int]{
		Name: "embeds", Version: "1", Defaults: defaults,
		Plan:   func(context.Context, P) (Plan, error) { return Plan{Partitions: 1}, nil },
		Open:   func(context.Context, P, Plan) (Mapper[int], error) { return nil, nil },
		Merge:  func(left, right int) (int, error) { return left + right, nil },
		Finish: func(_ context.Context, _ P, root int) (int, error) { return root, nil },
	}
}

func TestEmbeddedParameters(t *testing.T) {
	job := MustNew(definitionOf(sieve{Range: Range{High: 9}, Lots: Lots{Step: 1, Word: Word{Text: "w"}}}))
	var list []string
	for _, p := range job.Parameters() {
		list = append(list, fmt.Sprintf("%s=%s %s, %s", p.Name, p.Default, p.Takes, p.Help))
	}
	if got, want := strings.Join(list, "; "), "high=9 , the last number; name= , the name; step=1 at least 1, the step; word=w , ; low=0 at least 0, the first number"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	params, err := job.Params([]byte(`{"low":3,"name":"n"}`), "step=2", "word=x")
	if want := `{"high":9,"name":"n","step":2,"word":"x","low":3}`; err != nil || string(params) != want {
		t.Errorf("got %s, %v, want %s", params, err, want)
	}
}

// A Validate of the outer struct does not replace those of embedded structs, and two inherited ones do
// not hide each other.
func TestEmbeddedValidators(t *testing.T) {
	own := MustNew(definitionOf(sieve{Lots: Lots{Step: 1}}))
	inherited := MustNew(definitionOf(struct {
		Range
		Lots
	}{Lots: Lots{Step: 1}}))
	for _, c := range []struct {
		job   Job
		pairs string
		want  string // part of the error
	}{
		{own, "low=1 high=2", "parameter name: want a name"},
		{own, "low=2 high=1 name=n", "parameters low and high"},
		{own, "step=13", "parameter step: 13"},
		{inherited, "low=2 high=1", "parameters low and high"},
		{inherited, "step=13", "parameter step: 13"},
		{inherited, "low=1 high=2", ""},
	} {
		_, err := c.job.Params(nil, strings.Fields(c.pairs)...)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.pairs, err, c.want)
		}
	}
}

func TestEmbeddedHidden(t *testing.T) {
	job := MustNew(definitionOf(struct {
		Lots
		Steps string `json:"step" oneof:"one two"`
	}{Lots{Step: 5}, "two"}))
	params, err := job.Params(nil, "step=one")
	if want := `{"word":"","step":"one"}`; err != nil || string(params) != want {
		t.Errorf("got %s, %v, want %s", params, err, want)
	}
	type Others struct {
		Step int
	}
	_, err = New(definitionOf(struct {
		Lots
		Others
	}{}))
	if want := "parameter step is declared twice, by the fields Lots.Step and Others.Step"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
