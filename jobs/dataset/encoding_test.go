package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// inUTF16 returns a text in UTF-16.
func inUTF16(text string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// inLatin1 returns a text in latin-1.
func inLatin1(text string) string {
	var b []byte
	for _, r := range text {
		b = append(b, byte(r))
	}
	return string(b)
}

// TestEncodings reads objects in each encoding, cut at many places.
func TestEncodings(t *testing.T) {
	little, big := binary.LittleEndian, binary.BigEndian
	const mark, table = "\ufeff", "größe,y\r\n1,\"é\n😀\"\n\n2,ж"
	read := []string{"1|é\n😀", "2|ж"}
	for name, test := range map[string]struct {
		encoding string
		objects  []string
		want     []string
	}{
		"latin-1":              {"latin-1", []string{"a.csv", inLatin1("größe,y\n1,\"é\nü\"\n2,\u00a0ÿ\n"), "b.csv", inLatin1("größe,y\n\"3\",")}, []string{"1|é\nü", "2|\u00a0ÿ", "3|"}},
		"latin-1 like UTF-8":   {"latin-1", []string{"a.csv", "x,y\n\xc3\xa9,\"\xc3\xa9\"\n\x80,\x93\n"}, []string{"Ã©|Ã©", "\u0080|\u0093"}},
		"latin-1, ASCII":       {"latin-1", []string{"a.csv", "x,y\n1,2\n3,\"4\"\n"}, []string{"1|2", "3|4"}},
		"latin-1, gzip":        {"latin-1", []string{"a.csv.gz", gzipped("x,y\n\xe9,2\n")}, []string{"é|2"}},
		"latin-1 of lines":     {"latin-1", []string{"a.txt", "\xe9\n\n\xc3\xa9"}, []string{"é", "", "Ã©"}},
		"windows-1252":         {"windows-1252", []string{"a.csv", "x,y\n5 \x80,\x93a\x94\n\x81,\xe9\n"}, []string{"5 €|“a”", "\u0081|é"}},
		"UTF-8":                {"utf-8", []string{"a.csv", "x,y\né,2\n"}, []string{"é|2"}},
		"UTF-16 with marks":    {"utf-16", []string{"a.csv", inUTF16(mark+table, little), "b.csv", inUTF16(mark+table, big)}, append(slices.Clone(read), read...)},
		"UTF-16 without marks": {"utf-16", []string{"a.csv", inUTF16(table, little), "b.csv", inUTF16(table, big)}, append(slices.Clone(read), read...)},
		"UTF-16LE":             {"utf-16le", []string{"a.csv", inUTF16(table, little), "b.csv", inUTF16(mark+table, little)}, append(slices.Clone(read), read...)},
		"UTF-16BE":             {"utf-16be", []string{"a.csv", inUTF16(table, big), "b.csv", inUTF16(mark+table, big)}, append(slices.Clone(read), read...)},
		"UTF-16, gzip":         {"utf-16", []string{"a.csv.gz", gzipped(inUTF16(mark+table, little))}, read},
		"UTF-16 of lines":      {"utf-16le", []string{"a.txt", inUTF16("жa\n\n\u0a0d\u0d0a\n😀", little)}, []string{"жa", "", "\u0a0d\u0d0a", "😀"}},
		"UTF-16, empty":        {"utf-16", []string{"a.csv", "", "b.csv", inUTF16(mark, little), "c.csv", inUTF16(mark+"x\n1\n", big)}, []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			from := new(memory.Driver)
			for i := 0; i < len(test.objects); i += 2 {
				from.Put("mem://"+test.objects[i], []byte(test.objects[i+1]))
			}
			for _, block := range []int64{1, 2, 3, 5, 7, 1000} {
				in := Defaults()
				in.Source, in.Block, in.Encoding = "mem://*", block, test.encoding
				got, err := merged(t, collect, from, in, rand.New(rand.NewPCG(1, uint64(block))))
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("blocks of %d bytes: got %q, %v, want %q", block, got, err, test.want)
				}
				if records, _, err := pass(t, from, in, 2); err == nil && !slices.Equal(records, test.want) {
					t.Errorf("blocks of %d bytes, a job with rounds: got %q, want %q", block, records, test.want)
				}
			}
		})
	}
}

// TestEncodingsAtEverySplit reads random files in several encodings, and in UTF-8 in one block.
func TestEncodingsAtEverySplit(t *testing.T) {
	valid := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 5))
		plain, encoded := new(memory.Driver), new(memory.Driver)
		encoding := []string{latin1, windows1252, utf16Marked, utf16Little, utf16Big}[seed%5]
		for i := range 1 + random.IntN(3) {
			text := "a,b\n" + strings.ToValidUTF8(randomFile(random, 2), "") // the first character is ASCII
			plain.Put(fmt.Sprintf("mem://%d.csv", i), []byte(text))
			switch encoding {
			case latin1, windows1252:
				text = inLatin1(text)
			case utf16Big:
				text = inUTF16(text, binary.BigEndian)
			default:
				text = inUTF16(text, binary.LittleEndian)
			}
			encoded.Put(fmt.Sprintf("mem://%d.csv", i), []byte(text))
		}
		in := Defaults()
		in.Source, in.Header, in.Names = "mem://*", false, "x,y"
		want, wantErr := merged(t, collect, plain, in, random)
		in.Encoding, in.Block = encoding, 1+random.Int64N(60)
		got, err := merged(t, collect, encoded, in, random)
		if (err == nil) != (wantErr == nil) || err == nil && !slices.Equal(got, want) {
			t.Fatalf("seed %d, %s, blocks of %d bytes: got\n%q, %v, want\n%q, %v", seed, encoding, in.Block, got, err, want, wantErr)
		}
		if err == nil {
			valid++
		}
	}
	if valid < 100 {
		t.Errorf("%d of 200 inputs are valid: want at least 100", valid)
	}
}

// TestUTF16Reader reads texts that are longer than the reader's memory, in pieces of several sizes.
func TestUTF16Reader(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 6))
	var text strings.Builder
	for range 50_000 {
		text.WriteRune([]rune("ab\né€😀\U0010ffff\ufeff\ufffd")[random.IntN(9)])
	}
	want := "a" + text.String()
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		stored := inUTF16(want, order)
		for name, from := range map[string]io.Reader{
			"at once":      strings.NewReader(stored),
			"byte by byte": iotest.OneByteReader(strings.NewReader(stored)),
			"by halves":    iotest.HalfReader(iotest.DataErrReader(strings.NewReader(stored))),
		} {
			got, err := io.ReadAll(newUTF16Reader(from, "a", utf16Marked))
			if err != nil || string(got) != want {
				t.Errorf("%v, %s: got %d bytes, %v, want %d", order, name, len(got), err, len(want))
			}
		}
	}
}

// TestEncodingFaults checks the errors of text that is not in the encoding.
func TestEncodingFaults(t *testing.T) {
	for name, test := range map[string]struct {
		encoding string
		object   string
		content  string
		want     string
	}{
		"half of a pair":         {"utf-16le", "a.csv", "x\x00\n\x00\x3d\xd8a\x00\n\x00", "mem://a.csv: byte 4: a half of a character of UTF-16 without the other"},
		"second half":            {"utf-16le", "a.csv", "x\x00\n\x00\x00\xdea\x00\n\x00", "mem://a.csv: byte 4: a half of a character"},
		"half at the end":        {"utf-16le", "a.csv", "x\x00\n\x00\x3d\xd8", "mem://a.csv: byte 4: the object ends in the middle of a character"},
		"odd number of bytes":    {"utf-16be", "a.csv", "\x00x\x00\n\x00", "mem://a.csv: byte 4: the object ends in the middle of a character"},
		"neither mark nor ASCII": {"utf-16", "a.csv", "\x36\x04\n\x00", "mem://a.csv: byte 0: the object has no byte order mark: give the parameter encoding=utf-16le or utf-16be"},
		"UTF-8 and not UTF-16":   {"utf-16", "a.csv", "x,y\n1,2\n", "the object has no byte order mark"},
		"another mark":           {"utf-16be", "a.csv", "\xff\xfex\x00", "the byte order mark is not that of utf-16be: give the parameter encoding=utf-16"},
		"one byte":               {"utf-16", "a.csv", "x", "the object has no byte order mark"},
		"JSON":                   {"latin-1", "a.ndjson", "{}\n", "parameter encoding: takes csv, tsv or lines, and the format of the input is ndjson"},
		"latin-1 as UTF-8":       {"", "a.csv", "x\n\xe9\n", "give the parameter encoding, such as latin-1"},
		"UTF-16 as UTF-8":        {"", "a.csv", "x\x00\n\x00", "give the parameter encoding=utf-16"},
		"UTF-16 as latin-1":      {"latin-1", "a.csv", "x\x00\n\x00", "give the parameter encoding=utf-16"},
	} {
		got, err := rows(t, func(in *Input) { in.Encoding, in.OnError = test.encoding, "fail" }, test.object, test.content)
		if err == nil || !strings.Contains(err.Error(), test.want) || !jobs.IsPermanent(err) {
			t.Errorf("%s: got %q, %v, want %q, permanent", name, got, err, test.want)
		}
	}
	job := jobs.MustNew(Define(collect))
	if _, err := job.Params(nil, "input=a.csv", "encoding=latin1"); err == nil || !strings.Contains(err.Error(), `parameter encoding: got "latin1", takes one of utf-8, latin-1, windows-1252, utf-16`) {
		t.Errorf("an unknown encoding: got %v", err)
	}
}

// TestUTF16IsNotCut checks that only objects in UTF-16 are read whole.
func TestUTF16IsNotCut(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte(inUTF16("x\n"+strings.Repeat("1\n", 1000), binary.LittleEndian)))
	for encoding, want := range map[string]uint64{utf16Marked: 1, latin1: 41} {
		in := Defaults()
		in.Source, in.Block, in.Encoding, in.Header, in.Names = "mem://*", 100, encoding, false, "x"
		plan, err := defineOn(collect, from).Plan(t.Context(), in)
		if err != nil || plan.Partitions != want {
			t.Errorf("%s: got %d partitions, %v, want %d", encoding, plan.Partitions, err, want)
		}
	}
}
