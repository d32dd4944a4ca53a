package dataset

import (
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// bgzipMember returns a member of bgzip.
func bgzipMember(text []byte, level int) []byte {
	var b bytes.Buffer
	w, err := stdgzip.NewWriterLevel(&b, level)
	if err != nil {
		panic(err)
	}
	w.Extra = []byte("BC\x02\x00\x00\x00")
	_, _ = w.Write(text) // Write to a buffer never returns an error
	_ = w.Close()
	binary.LittleEndian.PutUint16(b.Bytes()[memberHeader-2:], uint16(b.Len()-1))
	return b.Bytes()
}

// bgzipEnd is the empty member with which bgzip ends an object.
const bgzipEnd = "\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x06\x00BC\x02\x00\x1b\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// bgzipped returns a text in members of random sizes of at most most bytes. Some are empty, and some are not compressed.
func bgzipped(random *rand.Rand, text string, most int) string {
	var b strings.Builder
	for rest := []byte(text); len(rest) > 0; {
		n := min(len(rest), random.IntN(most+1))
		b.Write(bgzipMember(rest[:n], random.IntN(3)))
		rest = rest[n:]
	}
	if random.IntN(3) > 0 {
		b.WriteString(bgzipEnd)
	}
	return b.String()
}

// TestBgzipInRounds is TestBgzipAtEverySplit for jobs with rounds, whose ranges must not begin inside quotes.
func TestBgzipInRounds(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 4))
		var text strings.Builder
		var want []string
		for i := range 1 + random.IntN(12) {
			row := fmt.Sprintf("%d|%s", i, strings.Repeat("x", random.IntN(40)))
			want = append(want, row)
			text.WriteString(strings.Replace(row, "|", ",", 1) + "\n")
		}
		from := new(memory.Driver)
		from.Put("mem://a.csv.gz", []byte(bgzipped(random, text.String(), 1+random.IntN(30))))
		in := Defaults()
		in.Source, in.Header = "mem://a.csv.gz", false
		for in.Block = 5; in.Block < 1000; in.Block += 1 + in.Block/2 {
			if got, _, err := pass(t, from, in, 2); err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d, blocks of %d bytes: got %q, %v, want %q", seed, in.Block, got, err, want)
			}
		}
	}
}

// TestBgzipOfLargeMembers has records that are longer than members, and members that are longer than blocks.
func TestBgzipOfLargeMembers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	for i := range 3000 {
		noise := make([]byte, random.IntN(400))
		for j := range noise {
			noise[j] = 'a' + byte(random.IntN(26))
		}
		if i%1000 == 500 {
			noise = bytes.Repeat([]byte("long, \"\"and\"\"\nquoted "), 30000)
		}
		fmt.Fprintf(&text, "%d,\"%s\"\n", i, noise)
	}
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte(text.String()))
	from.Put("mem://a.csv.gz", []byte(bgzipped(random, text.String(), maxMember-100)))
	in := Defaults()
	in.Source, in.Header = "mem://a.csv", false
	want, err := merged(t, collect, from, in, random)
	if err != nil {
		t.Fatal(err)
	}
	in.Source = "mem://a.csv.gz"
	for _, block := range []int64{10_000, 70_000, 300_000, 1 << 30} {
		in.Block = block
		got, err := merged(t, collect, from, in, random)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("blocks of %d bytes: got %d records, %v, want %d", block, len(got), err, len(want))
		}
	}
}

// contentOf returns the content of an object that is read in two ranges.
func contentOf(t *testing.T, stored string, border int) (string, error) {
	t.Helper()
	from := new(memory.Driver)
	from.Put("mem://a.gz", []byte(stored))
	l, err := list(t.Context(), from, Input{Source: "mem://a.gz"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, r := range [][2]int{{0, border}, {border, len(stored)}} {
		if r[0] == r[1] {
			continue
		}
		c, err := newReader(from).content(t.Context(), l[0], int64(r[0]), int64(r[1]))
		if err != nil {
			return "", err
		}
		_, err = io.Copy(&all, c.plain)
		c.Close()
		if err != nil {
			return "", err
		}
	}
	return all.String(), nil
}

// TestBgzipInBgzip cuts an object whose members contain, not compressed, the members of another object.
func TestBgzipInBgzip(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	text := make([]byte, 200_000)
	for i := range text {
		text[i] = byte(random.IntN(4))
	}
	var inner, stored []byte
	for rest := text; len(rest) > 0; {
		n := min(len(rest), 1+random.IntN(5000))
		inner, rest = append(inner, bgzipMember(rest[:n], 6)...), rest[n:]
	}
	for rest := inner; len(rest) > 0; {
		n := min(len(rest), 60_000)
		stored, rest = append(stored, bgzipMember(rest[:n], 0)...), rest[n:]
	}
	for border := 1; border < len(stored); border += 1 + random.IntN(400) {
		if got, err := contentOf(t, string(stored), border); err != nil || got != string(inner) {
			t.Fatalf("border at byte %d: got %d bytes, %v, want %d", border, len(got), err, len(inner))
		}
	}
}

// TestBgzipWithForgedHeader has a header in the content of a member from which a chain of sizes leads to the next member.
func TestBgzipWithForgedHeader(t *testing.T) {
	const before = 40
	content := append(bytes.Repeat([]byte("a"), before), bgzipEnd[:memberHeader]...)
	content = append(content, bytes.Repeat([]byte("b"), 500)...)
	first := bgzipMember(content, 0)
	forged := bytes.Index(first[1:], []byte(memberMagic)) + 1
	binary.LittleEndian.PutUint16(content[before+memberHeader-2:], uint16(len(first)-forged-1))
	first = bgzipMember(content, 0)
	text := string(content) + "second"
	stored := string(first) + string(bgzipMember([]byte("second"), 6)) + bgzipEnd
	refused := 0
	for border := 1; border < len(stored); border++ {
		got, err := contentOf(t, stored, border)
		fault, _ := errors.AsType[*Fault](err)
		switch {
		case fault != nil && border <= forged && strings.Contains(fault.Text, "should begin at this stored byte") && fault.Offset == int64(len(first)):
			refused++
		case err != nil || got != text:
			t.Fatalf("border at byte %d: got %q, %v", border, got, err)
		}
	}
	if refused != forged {
		t.Errorf("%d borders were refused, want %d", refused, forged)
	}
}

// TestDamagedBgzip changes each byte, and cuts the object at each byte. The content is right, or there is an error that names the object.
func TestDamagedBgzip(t *testing.T) {
	text := strings.Repeat("abcdefgh\n", 20)
	var stored []byte
	for part := range slices.Chunk([]byte(text), 50) {
		stored = append(stored, bgzipMember(part, 6)...)
	}
	members := len(stored)
	stored = append(stored, bgzipEnd...)
	refused := 0
	check := func(what string, damaged []byte, harmless bool) {
		for border := 0; border <= len(damaged); border += 13 {
			got, err := contentOf(t, string(damaged), border)
			if _, ok := errors.AsType[*Fault](err); ok && strings.Contains(err.Error(), "mem://a.gz: byte ") {
				refused++
			} else if err != nil && border > 0 && border < len(damaged) || err == nil && got != text && !harmless {
				t.Fatalf("%s, border at byte %d: got %q, %v", what, border, got, err)
			}
		}
	}
	for i := range stored {
		for _, flip := range []byte{1, 0x80} {
			damaged := bytes.Clone(stored)
			damaged[i] ^= flip
			check(fmt.Sprintf("byte %d", i), damaged, false)
		}
	}
	for n := 1; n < len(stored); n++ {
		at, end := 0, false // whether a member ends at n
		for ; at < n; at += memberSize(stored[at:]) {
		}
		end = at == n
		check(fmt.Sprintf("%d bytes", n), stored[:n], end)
	}
	if refused < len(stored)*10 {
		t.Errorf("%d damaged objects were refused, want more", refused)
	}
	if got, err := contentOf(t, string(stored[:members]), 30); err != nil || got != text { // bgzip accepts an object without the empty member too
		t.Errorf("without the last member: got %q, %v", got, err)
	}
	for _, after := range []string{gzipped("x"), "\x00\x00", "garbage"} {
		if _, err := contentOf(t, string(stored)+after, 0); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("byte %d: ", len(stored))) {
			t.Errorf("with %q after it: got %v, want an error at byte %d", after, err, len(stored))
		}
	}
}

// TestBgzipIsCut checks that objects of bgzip are cut, and those of other members not, and the offsets of errors.
func TestBgzipIsCut(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	first := strings.Repeat("1,2\n", 1000)
	bgzip := string(bgzipMember([]byte(first), 6))
	bad := bgzip + string(bgzipMember([]byte("3,4\nragged\n"), 6))
	from := new(memory.Driver)
	from.Put("mem://a.csv.gz", []byte(strings.Repeat(bgzip, 20)+bgzipEnd))
	from.Put("mem://b.csv.gz", []byte(strings.Repeat(gzipped(first), 20)))
	from.Put("mem://bad.csv.gz", []byte(bad))
	in := Defaults()
	in.Header, in.Block = false, 10
	for name, cut := range map[string]bool{"a": true, "b": false} {
		in.Source = "mem://" + name + ".csv.gz"
		plan, err := defineOn(collect, from).Plan(t.Context(), in)
		if err != nil || (plan.Partitions > 1) != cut {
			t.Errorf("%s has %d partitions, %v", in.Source, plan.Partitions, err)
		}
		if got, err := merged(t, collect, from, in, random); err != nil || len(got) != 20_000 {
			t.Errorf("%s: got %d records, %v", in.Source, len(got), err)
		}
	}
	in.Source = "mem://bad.csv.gz"
	for _, block := range []int64{10, 1000} {
		in.Block = block
		_, err := merged(t, collect, from, in, random)
		want := fmt.Sprintf("bad.csv.gz: byte 4 of the content of the bgzip member at byte %d: ", len(bgzip))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("blocks of %d bytes: got %v, want %s", block, err, want)
		}
		in.OnError = "skip"
		if got, err := merged(t, counted(), from, in, random); err != nil || got.Samples[0].Offset != int64(len(bgzip))<<16|4 {
			t.Errorf("blocks of %d bytes: got %+v, %v", block, got, err)
		}
		in.OnError = "fail"
	}
}

// counted returns a job whose result is the totals.
func counted() Job[Input, int, Totals] {
	return Job[Input, int, Totals]{
		Name: "counted", Version: "1", Summary: "totals", Defaults: Defaults(),
		Fold:   func(*int, *Record) error { return nil },
		Merge:  func(left, right int) (int, error) { return left + right, nil },
		Finish: func(_ context.Context, _ Input, _ int, t Totals) (Totals, error) { return t, nil },
	}
}
