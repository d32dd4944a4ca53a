package scan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// exact_distinct counts what a map counts, above the limit of distinct too, and for every block size.
func TestExactDistinct(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 7))
	var b strings.Builder
	b.WriteString("key,value\n")
	want := map[string]map[string]bool{"few": {}, "many": {}, "none": {}}
	for range 30_000 {
		key, value := "many", fmt.Sprint(random.IntN(9000))
		switch random.IntN(10) {
		case 0:
			key, value = "few", fmt.Sprint(random.IntN(5))
		case 1:
			value = strings.Repeat("ä ", random.IntN(150)) + value
		case 2:
			key, value = "none", ""
		}
		fmt.Fprintf(&b, "%s,%s\n", key, value)
		if value != "" {
			want[key][value] = true
		}
	}
	if len(want["many"]) < 10_000 {
		t.Fatalf("%d values, want more than distinct counts exactly", len(want["many"]))
	}
	name := write(t, "a.csv", b.String())
	rows := fmt.Sprintf(`"rows":[["few",5],["many",%d],["none",0]]`, len(want["many"]))
	first := ""
	for _, block := range []string{"1000", "77777", "1000000000"} {
		got, err := scan(t, "input="+name, "by=key", "aggregate=exact_distinct(value)", "block="+block)
		if err != nil || !strings.Contains(got, rows) || first != "" && got != first {
			t.Errorf("blocks of %s bytes: got %.300s, %v, want %s", block, got, err, rows)
		}
		first = got
	}
}

// A set has one encoding, however it was made, and a damaged one is refused.
func TestValueSets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for range 200 {
		one, left, right := new(valueSets), new(valueSets), new(valueSets)
		for _, s := range []*valueSets{one, left, right} {
			s.grow()
		}
		all := map[string]bool{}
		for range random.IntN(2000) {
			value := strings.Repeat("x", random.IntN(130)) + fmt.Sprint(random.IntN(100))
			all[value] = true
			one.list[0].add([]byte(value))
			[]*valueSets{left, right}[random.IntN(2)].list[0].add([]byte(value))
		}
		left.merge(0, right, 0)
		encoded := one.append(nil, 0)
		if merged := left.append(nil, 0); !slices.Equal(encoded, merged) || one.list[0].count != uint64(len(all)) {
			t.Fatalf("%d values: counted %d, merged %d", len(all), one.list[0].count, left.list[0].count)
		}
		again := new(valueSets)
		if rest, err := again.read(append(slices.Clone(encoded), "rest"...)); err != nil || string(rest) != "rest" || !slices.Equal(again.append(nil, 0), encoded) {
			t.Fatalf("%d values: read back as %d, %q, %v", len(all), again.list[0].count, rest, err)
		}
	}
	for name, data := range map[string]string{
		"empty":              "",
		"no list":            "\x01",
		"too short":          "\x01\x03\x01a",
		"fewer values":       "\x02\x02\x01a",
		"more values":        "\x01\x04\x01a\x01b",
		"not in order":       "\x02\x04\x01b\x01a",
		"twice":              "\x02\x04\x01a\x01a",
		"empty value":        "\x01\x01\x00",
		"value is too long":  "\x01\x02\x05a",
		"values in no bytes": "\x01\x00",
	} {
		if _, err := new(valueSets).read([]byte(data)); err == nil {
			t.Errorf("%s: a damaged set is read", name)
		}
	}
}
