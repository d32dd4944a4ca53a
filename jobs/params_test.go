package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

type allParams struct {
	Count  int64         `json:"count" min:"-5" max:"1e3" help:"a count"`
	Limit  uint64        `json:"limit" max:"1e13"`
	Small  uint8         `json:"small"`
	Rate   float64       `json:"rate" min:"0" max:"1"`
	Coarse float32       `json:"coarse"`
	Kind   string        `json:"kind" oneof:"call put"`
	Note   string        `json:"note"`
	Wait   time.Duration `json:"wait" min:"0s" max:"1h"`
	Deep   bool
}

var allDefaults = allParams{Count: 1, Limit: 10, Rate: 0.5, Kind: "call", Wait: time.Second}

func (p *allParams) Validate() error {
	if p.Note == "count" && p.Count == 0 {
		return errors.New("parameter note: got \"count\", which takes a count other than 0")
	}
	return nil
}

func allCodec(t rapid.TB) paramsCodec[allParams] {
	t.Helper()
	list, err := describe(allDefaults)
	if err != nil {
		t.Fatal(err)
	}
	return paramsCodec[allParams]{allDefaults, list}
}

func TestParamsAccepted(t *testing.T) {
	codec := allCodec(t)
	for _, c := range []struct {
		base  string
		pairs []string
		want  func(*allParams)
	}{
		{"", nil, func(*allParams) {}},
		{"{}", nil, func(*allParams) {}},
		{` {"limit": 5, "kind":"put"} `, nil, func(p *allParams) { p.Limit, p.Kind = 5, "put" }},
		{`{"limit": 5}`, []string{"limit=6", "limit=7"}, func(p *allParams) { p.Limit = 7 }},
		{`{"limit": 1e13}`, nil, func(p *allParams) { p.Limit = 1e13 }},
		{"", []string{"limit=1_000_000"}, func(p *allParams) { p.Limit = 1e6 }},
		{"", []string{"limit=1.25E+6"}, func(p *allParams) { p.Limit = 1250000 }},
		{"", []string{"limit=10M", "count=-0.005k"}, func(p *allParams) { p.Limit, p.Count = 10_000_000, -5 }},
		{"", []string{"limit=1.5GiB"}, func(p *allParams) { p.Limit = 3 << 29 }},
		{"", []string{"limit=1.5e3k", "coarse=2k"}, func(p *allParams) { p.Limit, p.Coarse = 1_500_000, 2000 }},
		{"", []string{"count=-5"}, func(p *allParams) { p.Count = -5 }},
		{"", []string{"count=-0.005e3"}, func(p *allParams) { p.Count = -5 }},
		{"", []string{"rate=1e-3", "coarse=0.1"}, func(p *allParams) { p.Rate, p.Coarse = 1e-3, 0.1 }},
		{`{"wait":"1m30s","deep":true}`, nil, func(p *allParams) { p.Wait, p.Deep = 90*time.Second, true }},
		{"", []string{"note=a=b \"<\u00e9>"}, func(p *allParams) { p.Note = "a=b \"<\u00e9>" }},
		{"", []string{"note="}, func(*allParams) {}},
	} {
		want := allDefaults
		c.want(&want)
		got, err := codec.parse([]byte(c.base), c.pairs)
		if err != nil || got != want {
			t.Errorf("%s %q: got %+v: %v, want %+v", c.base, c.pairs, got, err, want)
		}
	}
}

func TestParamsRefused(t *testing.T) {
	codec := allCodec(t)
	const names = "want one of count, limit, small, rate, coarse, kind, note, wait, deep"
	for _, c := range []struct {
		base string
		pair string
		want string
	}{
		{"", "limit", `parameter "limit": want name=value`},
		{"", "x=1", `unknown parameter "x": ` + names},
		{`{"Limit":1}`, "", `unknown parameter "Limit": ` + names},
		{"", "limit=ten", `parameter limit: got "ten", takes an integer, 0 to 1e13`},
		{"", "limit=-1", `parameter limit: got "-1", takes an integer, 0 to 1e13`},
		{"", "limit=1.5", `parameter limit: got "1.5", takes an integer, 0 to 1e13`},
		{"", "limit=1.25e1", `parameter limit: got "1.25e1", takes an integer, 0 to 1e13`},
		{"", "limit=-e5", `parameter limit: got "-e5", takes an integer, 0 to 1e13`},
		{"", "limit=10B", `parameter limit: got "10B", takes an integer, 0 to 1e13`},
		{"", "limit=0.1Ki", `parameter limit: got "0.1Ki", takes an integer, 0 to 1e13`},
		{"", "limit=20E", `parameter limit: got "20E", takes an integer, 0 to 1e13`},
		{"", "limit=e5", `parameter limit: got "e5", takes an integer, 0 to 1e13`},
		{"", "limit=1e99", `parameter limit: got "1e99", takes an integer, 0 to 1e13`},
		{"", "limit=0x10", `parameter limit: got "0x10", takes an integer, 0 to 1e13`},
		{"", "limit=", `parameter limit: got "", takes an integer, 0 to 1e13`},
		{"", "limit=1e14", `parameter limit: got 100000000000000, takes an integer, 0 to 1e13`},
		{"", "count=-6", `parameter count: got -6, takes an integer, -5 to 1e3`},
		{"", "count=-e3", `parameter count: got "-e3", takes an integer, -5 to 1e3`},
		{"", "small=256", `parameter small: got "256", takes an integer, at least 0`},
		{"", "rate=1.5", `parameter rate: got 1.5, takes a number, 0 to 1`},
		{"", "rate=nan", `parameter rate: got NaN, takes a number, 0 to 1`},
		{"", "coarse=inf", `parameter coarse: got +Inf, takes a number`},
		{"", "coarse=1e39", `parameter coarse: got "1e39", takes a number`},
		{"", "kind=both", `parameter kind: got "both", takes one of call, put`},
		{"", "note=\xff", `parameter note: got "\xff", which is not UTF-8, takes a string`},
		{"", "wait=5", `parameter wait: got "5", takes a duration such as 1.5s, 0s to 1h`},
		{"", "wait=2h", `parameter wait: got 2h0m0s, takes a duration such as 1.5s, 0s to 1h`},
		{"", "deep=maybe", `parameter deep: got "maybe", takes a boolean`},
		{`{"count":0}`, "note=count", `parameter note: got "count", which takes a count other than 0`},
		{`{"limit":"5"}`, "", `parameter limit: got "5", takes an integer, 0 to 1e13`},
		{`{"limit":null}`, "", `parameter limit: got null, takes an integer, 0 to 1e13`},
		{`{"limit":[5]}`, "", `parameter limit: got [5], takes an integer, 0 to 1e13`},
		{`{"limit":5.5}`, "", `parameter limit: got 5.5, takes an integer, 0 to 1e13`},
		{`{"kind":1}`, "", `parameter kind: got 1, takes one of call, put`},
		{`{"deep":"true"}`, "", `parameter deep: got "true", takes a boolean`},
		{`{"wait":5}`, "", `parameter wait: got 5, takes a duration such as 1.5s, 0s to 1h`},
		{`{"limit":5,"limit":6}`, "", `parameter limit is given twice`},
		{`{"limit":5}{}`, "", `parameters are followed by more data: want one JSON object`},
		{`{"limit":5}}`, "", `parameters are followed by more data: want one JSON object`},
		{`{"limit":5`, "", `parameters are not a JSON object: `},
		{`{"limit":}`, "", `parameter limit: not JSON: `},
		{`{5}`, "", `parameters are not a JSON object: `},
		{`null`, "", `parameters are not a JSON object`},
		{`[]`, "", `parameters are not a JSON object`},
		{` `, "", `parameters are not a JSON object`},
	} {
		var pairs []string
		if c.pair != "" {
			pairs = []string{c.pair}
		}
		_, err := codec.parse([]byte(c.base), pairs)
		if err == nil {
			t.Errorf("%s %s: no error, want %s", c.base, c.pair, c.want)
		} else if err.Error() != c.want && !(strings.HasSuffix(c.want, ": ") && strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s %s:\n got %s\nwant %s", c.base, c.pair, err, c.want)
		}
	}
	if _, err := codec.parse(nil, []string{"limit=" + strings.Repeat("9", 5000)}); err == nil || len(err.Error()) > 300 {
		t.Errorf("the error for a long value is %v", err)
	}
}

func TestParamsStoredForm(t *testing.T) {
	job := MustNew(allDefinition())
	params, err := job.Params([]byte(`{"note":"<&>"}`), "rate=1e-7")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"count":1,"limit":10,"small":0,"rate":1e-07,"coarse":0,"kind":"call","note":"<&>","wait":"1s","deep":false}`
	if string(params) != want {
		t.Errorf("got  %s\nwant %s", params, want)
	}
	if earlier, err := job.Params([]byte(`{"note":"\u003c\u0026\u003e"}`), "rate=1e-7"); err != nil || string(earlier) != want { // JSON as an earlier version of this package wrote it
		t.Errorf("read from an earlier version, it is %s: %v", earlier, err)
	}
	again, err := job.Params(params)
	if err != nil || string(again) != want {
		t.Errorf("read back, it is %s: %v", again, err)
	}
	escaped := strings.Replace(want, "<&>", `\u003c\u0026\u003e`, 1) // the default encoding of package json
	if data, err := json.Marshal(struct{ P Params }{params}); err != nil || string(data) != `{"P":`+escaped+`}` {
		t.Errorf("as JSON, it is %s: %v", data, err)
	}
}

// TestParamsRoundTrip checks that encode writes all parameters that parse accepts, and that parse
// reads the encoded parameters as the same values.
func TestParamsRoundTrip(t *testing.T) {
	codec := allCodec(t)
	rapid.Check(t, func(t *rapid.T) {
		p := allParams{
			Count:  rapid.Int64Range(-5, 1000).Draw(t, "count"),
			Limit:  rapid.Uint64Range(0, 1e13).Draw(t, "limit"),
			Small:  rapid.Byte().Draw(t, "small"),
			Rate:   rapid.Float64Range(0, 1).Draw(t, "rate"),
			Coarse: rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32).Draw(t, "coarse"),
			Kind:   rapid.SampledFrom([]string{"call", "put"}).Draw(t, "kind"),
			Note:   rapid.String().Draw(t, "note"),
			Wait:   time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "wait")),
			Deep:   rapid.Bool().Draw(t, "deep"),
		}
		if p.Validate() != nil {
			t.Skip("these do not go together")
		}
		data, err := codec.encode(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codec.parse(data, nil); err != nil || got != p {
			t.Fatalf("got %+v: %v, want %+v", got, err, p)
		}
	})
}

func FuzzParams(f *testing.F) {
	f.Add([]byte(`{"limit":1e13,"kind":"put","wait":"1h","rate":0.1,"deep":true}`), "count=1_0")
	f.Add([]byte(`{"limit":5,"limit":6}`), "note=\xff")
	f.Add([]byte(`{"limit":5}}`), "rate=NaN")
	f.Add([]byte(nil), "count=-e3")
	f.Add([]byte(`{"coarse":-0}`), "=")
	f.Add([]byte(`{"limit":5}`), "rate=0.5")
	codec := allCodec(f)
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, base []byte, pair string) {
		p, err := codec.parse(base, []string{pair})
		if err != nil {
			if !strings.Contains(err.Error(), "parameter") {
				t.Fatalf("the error names no parameter: %v", err)
			}
			corpus.Refused()
			return
		}
		corpus.Taken()
		if p.Limit > 1e13 || p.Count < -5 || p.Count > 1000 || !(p.Rate >= 0 && p.Rate <= 1) || p.Wait < 0 || p.Wait > time.Hour || p.Kind != "call" && p.Kind != "put" {
			t.Fatalf("out of range: %+v", p)
		}
		data, err := codec.encode(p)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := codec.parse(data, nil); err != nil || again != p {
			t.Fatalf("read back from %s: %+v: %v, want %+v", data, again, err, p)
		}
	})
}

func TestDescribe(t *testing.T) {
	got := MustNew(allDefinition()).Parameters()
	want := []string{
		"count integer 1 '-5 to 1e3' 'a count'", "limit integer 10 '0 to 1e13' ''", "small integer 0 'at least 0' ''",
		"rate number 0.5 '0 to 1' ''", "coarse number 0 '' ''", "kind string call 'one of call, put' ''",
		"note string  '' ''", "wait duration 1s '0s to 1h' ''", "deep boolean false '' ''",
	}
	if len(got) != len(want) {
		t.Fatalf("%d parameters, want %d", len(got), len(want))
	}
	for i, p := range got {
		if line := fmt.Sprintf("%s %s %s '%s' '%s'", p.Name, p.Type, p.Default, p.Takes, p.Help); line != want[i] {
			t.Errorf("got %s, want %s", line, want[i])
		}
	}
}

// TestOmittedParameters leaves empty parameters with omitempty out of the stored form.
func TestOmittedParameters(t *testing.T) {
	type params struct {
		A string `json:"a,omitempty"`
		B int    `json:"b"`
		C bool   `json:"c,omitempty"`
	}
	list, err := describe(params{B: 1})
	if err != nil {
		t.Fatal(err)
	}
	codec := paramsCodec[params]{params{B: 1}, list}
	for want, pairs := range map[string][]string{
		`{"b":1}`:                      nil,
		`{"a":"x","b":1}`:              {"a=x", "c=false"},
		`{"b":0,"c":true}`:             {"b=0", "c=true"},
		`{"a":"false","b":2,"c":true}`: {"a=false", "b=2", "c=1"},
	} {
		p, err := codec.parse(nil, pairs)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := codec.encode(p)
		if again, parseErr := codec.parse(stored, nil); err != nil || string(stored) != want || again != p || parseErr != nil {
			t.Errorf("%q: got %s, %v, read as %+v, %v, want %s", pairs, stored, err, again, parseErr, want)
		}
	}
}

func TestDescribeRefuses(t *testing.T) {
	for _, defaults := range []any{
		5,
		struct {
			A string `json:"a,omitempty"`
		}{"x"},
		struct {
			A float64 `json:",omitempty"`
		}{},
		struct{ hidden int }{},
		struct{ allParams }{},
		struct{ *Range }{},
		struct{ Params }{},
		struct {
			Range `json:"range"`
		}{},
		struct {
			Range `last:"high lowest"`
		}{},
		struct{ A []int }{},
		struct{ A uintptr }{},
		struct {
			A int `json:"a b"`
		}{},
		struct {
			A int `json:"-"`
		}{},
		struct {
			A int `json:"b"`
			B int
		}{},
		struct {
			A int `min:"low"`
		}{},
		struct {
			A string `max:"9"`
		}{},
		struct {
			A int `oneof:"1 2"`
		}{},
	} {
		if list, err := describe(defaults); err == nil {
			t.Errorf("%T was taken: %+v", defaults, list)
		}
	}
}

func allDefinition() Definition[allParams, int, int] {
	return Definition[allParams, int, int]{
		Name: "all", Version: "1", Defaults: allDefaults,
		Plan:   func(context.Context, allParams) (Plan, error) { return Plan{Partitions: 1}, nil },
		Open:   func(context.Context, allParams, Plan) (Mapper[int], error) { return nil, nil },
		Merge:  func(left, right int) (int, error) { return left + right, nil },
		Finish: func(_ context.Context, _ allParams, root int) (int, error) { return root, nil },
	}
}
