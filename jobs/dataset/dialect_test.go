package dataset

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// marked is collect with null for missing values.
var marked = func() Job[Input, []string, []string] {
	j := collect
	j.Open = func(_ Input, columns []string) (func(acc *[]string, r *Record) error, error) {
		return func(acc *[]string, r *Record) error {
			var fields []string
			for i := range columns {
				field := string(r.Field(i))
				if r.Field(i) == nil {
					field = "null"
				}
				fields = append(fields, field)
			}
			*acc = append(*acc, strings.Join(fields, "|"))
			return nil
		}, nil
	}
	return j
}()

// TestDialects reads objects with each parameter of the dialect, cut at many places.
func TestDialects(t *testing.T) {
	comments := func(in *Input) { in.Comment = "#" }
	trimmed := func(in *Input) { in.Trim = true }
	for name, test := range map[string]struct {
		objects []string
		change  func(*Input)
		least   int64 // twice the size of the comment lines and the header, because a range has at least half of a block
		want    []string
	}{
		"null":                {[]string{"a.csv", "x,y\nNA,1\n\"NA\",-\nna,NAN\n,\"\"\n"}, func(in *Input) { in.Null = "NA, -" }, 1, []string{"null|1", "null|null", "na|NAN", "|"}},
		"null, one column":    {[]string{"a.csv", "NA\nNA\n\nb\n"}, func(in *Input) { in.Null = "NA" }, 1, []string{"null", "", "b"}},
		"comments":            {[]string{"a.csv", "# of \"2026\", by us\n#\nx,y\n#c\n1,2\n#,#\n\"#\",4\r\n#3,4\r\n,#5\n#"}, comments, 50, []string{"1|2", "#|4", "|#5"}},
		"comments of objects": {[]string{"a.csv", "#a\nx,y\n1,2\n", "b.csv", "# longer\n#\nx,y\n3,4", "c.csv", "#c", "d.csv", "x,y\n5,6"}, comments, 30, []string{"1|2", "3|4", "5|6"}},
		"comments, mark":      {[]string{"a.csv", "\xef\xbb\xbf#a\nx,y\n1,2\n"}, comments, 20, []string{"1|2"}},
		"comments, gzip":      {[]string{"a.csv.gz", gzipped("#a\nx,y\n") + gzipped("#\n1,2\n")}, comments, 1, []string{"1|2"}},
		"comments, bytes":     {[]string{"a.csv", "x,y\n#\xff\n1,2\n#\xff\n"}, comments, 8, []string{"1|2"}},
		"comments, names":     {[]string{"a.csv", "#a\nv,w\n1,2\n"}, func(in *Input) { in.Comment, in.Names = "#", "x,y" }, 14, []string{"1|2"}},
		"comments, no header": {[]string{"a.csv", "#a\n\n1,2\n#b\n3,\"4\n#5\"\n#", "b.csv", "#\n6,7"}, func(in *Input) { in.Comment, in.Header = "#", false }, 1, []string{"1|2", "3|4\n#5", "6|7"}},
		"comments, no quotes": {[]string{"a.csv", "x,y\n# 5\" pipe\n1,2\"\n"}, func(in *Input) { in.Comment, in.Quote = "#", "" }, 8, []string{"1|2\""}},
		"comments, column":    {[]string{"a.csv", "x\n#\n\n1\n#\n"}, comments, 4, []string{"", "1"}},
		"trim":                {[]string{"a.csv", " x ,\ty\n 1 , 2\t\n  \n\" a \" , \"b\"\"\"\r\n ,\"\"\n a b, c d \r\n"}, trimmed, 1, []string{"1|2", " a |b\"", "|", "a b|c d"}},
		"trim, tsv":           {[]string{"a.tsv", "x\ty \n\t\n 1\t 2\n"}, trimmed, 1, []string{"|", "1|2"}},
		"trim, column":        {[]string{"a.csv", " x\n 1\n \n"}, trimmed, 1, []string{"1", ""}},
		"trim and null":       {[]string{"a.csv", "x,y\n NA ,\" NA\"\n"}, func(in *Input) { in.Trim, in.Null = true, "NA" }, 1, []string{"null| NA"}},
		"trim and comments":   {[]string{"a.csv", "x,y\n# \" \"\n #,1\n"}, func(in *Input) { in.Trim, in.Comment = true, "#" }, 8, []string{"#|1"}},
	} {
		t.Run(name, func(t *testing.T) {
			from := new(memory.Driver)
			for i := 0; i < len(test.objects); i += 2 {
				from.Put("mem://"+test.objects[i], []byte(test.objects[i+1]))
			}
			for _, block := range []int64{1, 2, 3, 4, 5, 7, 10, 15, 20, 25, 30, 50, 1000} {
				in := Defaults()
				in.Source, in.Block = "mem://*", block
				test.change(&in)
				got, err := merged(t, marked, from, in, rand.New(rand.NewPCG(1, uint64(block))))
				if block < test.least {
					if err == nil && !slices.Equal(got, test.want) || err != nil && !strings.Contains(err.Error(), "give a larger parameter block") {
						t.Errorf("blocks of %d bytes: got %q, %v, want %q or an error of the block", block, got, err, test.want)
					}
					continue
				}
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("blocks of %d bytes: got %q, %v, want %q", block, got, err, test.want)
				}
			}
		})
	}
}

// TestDialectFaults checks the errors of parameters of the dialect.
func TestDialectFaults(t *testing.T) {
	comments := func(in *Input) { in.Comment, in.OnError = "#", "skip" }
	for name, test := range map[string]struct {
		objects []string
		change  func(*Input)
		want    string
	}{
		"a quote in a comment":           {[]string{"a.csv", "x,y\n1,2\n# 5\" pipe\n3,4\n\"5\",6\n"}, comments, "mem://a.csv: byte 8: the comment line has an odd number of quotes"},
		"a quote in the first comment":   {[]string{"a.csv", "# 5\" pipe\nx,y\n\"5\",6\n"}, comments, "mem://a.csv: byte 0: the comment line has an odd number of quotes"},
		"a quote in the second object":   {[]string{"a.csv", "x,y\n1,2\n", "b.csv", "# 5\" pipe\nx,y\n\"5\",6\n"}, comments, "mem://b.csv: byte 0: the comment line has an odd number of quotes"},
		"comments longer than the block": {[]string{"a.csv", "#a\n#b\nx,y\n1,2\n"}, func(in *Input) { in.Comment, in.Block = "#", 7 }, "mem://a.csv: byte 0: the comment lines and the header have more than 7 bytes: give a larger parameter block"},
		"another header":                 {[]string{"a.csv", "x,y\n1,2\n", "b.csv", "#\ny,x\n3,4\n"}, comments, "mem://b.csv: byte 2: the header differs"},
		"null of JSON":                   {[]string{"a.ndjson", "{}\n"}, func(in *Input) { in.Null = "NA" }, "parameter null: takes csv or tsv, and the format of the input is ndjson"},
		"comments of lines":              {[]string{"a.txt", "a\n"}, comments, "parameter comment: takes csv or tsv, and the format of the input is lines"},
		"trim of Parquet":                {[]string{"a.parquet", "PAR1"}, func(in *Input) { in.Trim = true }, "parameter trim: takes csv or tsv, and the format of the input is parquet"},
		"spaces without trim":            {[]string{"a.csv", "x,y\n1, \"2\"\n"}, func(*Input) {}, "a quote in a field that does not begin with one"},
		"text after a quote":             {[]string{"a.csv", "x,y\n1, \"2\" 3\n"}, func(in *Input) { in.Trim = true }, "text after the quote that ends a field"},
		"two quoted texts":               {[]string{"a.csv", "x,y\n1, \"2\" \"3\"\n"}, func(in *Input) { in.Trim = true }, "text after the quote that ends a field"},
	} {
		if got, err := rows(t, test.change, test.objects...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, test.want)
		}
	}
	job := jobs.MustNew(Define(collect))
	for pairs, want := range map[string]string{
		"comment=##":               "parameter comment: got \"##\", takes one ASCII character",
		"comment=,":                "parameter comment is \",\", as is the delimiter or the quote",
		"comment=#;quote=#":        "parameter comment is \"#\", as is the delimiter or the quote",
		"null=NA;format=ndjson":    "parameter null: takes csv or tsv, and the format of the input is ndjson",
		"trim=true;format=parquet": "parameter trim: takes csv or tsv, and the format of the input is parquet",
	} {
		if _, err := job.Params(nil, append(strings.Split(pairs, ";"), "input=a.csv")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", pairs, err, want)
		}
	}
}
