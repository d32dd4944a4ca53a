package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Input selects the objects that a job reads, and determines how their bytes are divided into
// records. The parameters of a job are an Input, or a struct that embeds Input and has more
// parameters, or a job makes the Input from its parameters.
type Input struct {
	// Source selects the objects. The value of Source is a list of names that are separated by
	// commas. A name is a path, a URL or another name of one of [Sources], a pattern such as
	// logs/*.csv, or a folder. For a name that contains a comma, use a pattern with ? instead of the
	// comma. A name that ends in a slash selects all objects whose
	// names begin with this name.
	Source string `json:"input" required:"true"`

	// Format is lines, csv, tsv, ndjson, parquet, avro or auto. If Format is auto, the endings of the
	// objects' names determine the format. In every format but parquet, an object whose name ends
	// in .gz, .zst or .bz2 is compressed.
	Format string `json:"format" oneof:"auto lines csv tsv ndjson parquet avro" help:"the format of the objects; auto: by the ending of their names"`

	// Header is true if the first line of each object contains the names of the columns (csv and
	// tsv).
	Header bool `json:"header" help:"the first line of each object names the columns (csv, tsv)"`

	// Names are the names of the columns, separated by commas. Names replaces the names in the
	// header. For ndjson, Names are members that the first records may lack.
	Names string `json:"names" help:"names of the columns, separated by commas, in place of those of the header (csv, tsv); members that the first records may lack (ndjson)"`

	// Delimiter is the ASCII character that separates fields. The default is a comma, or for tsv a
	// tab.
	Delimiter string `json:"delimiter" help:"the character between fields; by default a comma, and a tab for tsv"`

	// Quote is the ASCII character that encloses fields that contain delimiters, quotes or line
	// ends. If Quote is empty, fields cannot be enclosed in quotes.
	Quote string `json:"quote" help:"the character around fields with delimiters or line ends; empty: none (csv, tsv)"`

	// Encoding is the encoding of the text (csv, tsv and lines): utf-8, latin-1, windows-1252, utf-16, utf-16le or
	// utf-16be. The default is utf-8. The byte order mark of an object in utf-16 tells the order of its bytes, or if it has
	// none, its first character, which must then be ASCII. Objects in UTF-16 are never cut.
	Encoding string `json:"encoding,omitempty" help:"the encoding of the text: utf-8, latin-1, windows-1252, utf-16, utf-16le or utf-16be; by default utf-8; objects in UTF-16 are read whole (csv, tsv, lines)"`

	// Null are the texts of fields that are missing values, separated by commas, such as NA,- (csv and tsv). A quoted
	// field may be such a text too.
	Null string `json:"null,omitempty" help:"fields that are missing values, separated by commas, such as NA,- (csv, tsv)"`

	// Comment is the ASCII character with which lines begin that are not records (csv and tsv). Such lines may be
	// anywhere outside quotes, and before the header. If fields can be quoted, each has an even number of quotes.
	Comment string `json:"comment,omitempty" help:"the character with which lines begin that are no records, such as # (csv, tsv)"`

	// Trim is true if spaces and tabs around fields and around the names in the header do not belong to them (csv and
	// tsv). Spaces within quotes do.
	Trim bool `json:"trim,omitempty" help:"leave out spaces and tabs around fields and names, outside quotes (csv, tsv)"`

	// Decimal is the character before the decimals of numbers, a point or a comma (csv and tsv). The default is a point.
	Decimal string `json:"decimal,omitempty" help:"the character before the decimals of numbers, as the comma in 1,5; by default a point (csv, tsv)"`

	// Thousands is the character between groups of three digits of numbers, as in 1.234,5 (csv and tsv). The default is
	// none. A number may also be written without groups. A field that is no number in this notation is text.
	Thousands string `json:"thousands,omitempty" help:"the character between groups of three digits of numbers, as the comma in 1,234.5; by default none (csv, tsv)"`

	// Union is by-name if the columns of the objects may differ in order and number (csv and tsv with headers, parquet). The
	// columns are then those of all objects, and one that an object lacks is a missing value in its records.
	Union string `json:"union,omitempty" help:"by-name: the columns of the objects may differ, and one that an object lacks is a missing value (csv, tsv, parquet)"`

	// Block is the approximate size of a partition in bytes. The result does not depend on Block if
	// the job's accumulators are exact.
	Block int64 `json:"block" min:"1" help:"bytes per partition, about; a compressed object is one partition, unless bgzip has written it"`

	// OnError says whether a record that cannot be read, or that Fold refuses, fails the job or is
	// skipped and counted.
	OnError string `json:"on-error" oneof:"fail skip" help:"what to do with a bad record: fail the job, or skip and count it"`
}

// DefaultBlock is the default size of a partition in bytes.
const DefaultBlock = 32 << 20

// Defaults returns an Input with the default values. The field Source of the returned Input is
// empty.
func Defaults() Input {
	return Input{Format: "auto", Header: true, Quote: `"`, Block: DefaultBlock, OnError: "fail"}
}

// input returns the Input that a job's parameters embed.
func (in Input) input() Input { return in }

// Describe implements jobs.Describer, for the parameter input.
func (Input) Describe(parameter string) string {
	if parameter != "input" {
		return ""
	}
	return "the objects to read, separated by commas; each, also as a pattern or a folder, is " + source.Names(Sources())
}

// Validate implements jobs.Validator.
func (in *Input) Validate() error {
	if err := source.CheckSecret(in.Source); err != nil {
		return fmt.Errorf("parameter input: %w", err)
	}
	for _, c := range []struct{ name, value string }{{"delimiter", in.Delimiter}, {"quote", in.Quote}, {"comment", in.Comment}} {
		if len(c.value) > 1 || c.value != "" && (c.value[0] >= 0x80 || c.value == "\n" || c.value == "\r" || c.value == "\x00") {
			return fmt.Errorf("parameter %s: got %q, takes one ASCII character that is no line end", c.name, c.value)
		}
	}
	delimiter := in.Delimiter
	if delimiter == "" && in.Format != "tsv" {
		delimiter = ","
	} else if delimiter == "" {
		delimiter = "\t"
	}
	if delimiter == in.Quote {
		return fmt.Errorf("parameters delimiter and quote are both %q: want different characters", in.Quote)
	}
	if err := cmp.Or(in.checkNotation(), in.checkEncoding()); err != nil {
		return err
	}
	if in.Comment != "" && (in.Comment == delimiter || in.Comment == in.Quote) {
		return fmt.Errorf("parameter comment is %q, as is the delimiter or the quote: want different characters", in.Comment)
	}
	if in.Format != "auto" && in.Format != "" {
		return in.checkFormat(format(in.Format))
	}
	if in.Union != "" && in.Union != byName {
		return in.checkUnion("")
	}
	return nil
}

// check returns an error if the Input is invalid for every job.
func (in Input) check() error {
	if len(in.patterns()) == 0 {
		return errors.New("parameter input is empty: want the objects to read, such as input='logs/*.csv'")
	}
	if in.Block < 1 {
		return fmt.Errorf("parameter block: got %d, takes at least 1", in.Block)
	}
	return in.Validate()
}

// patterns returns the names and patterns in Source. Those of Azure Data Lake Storage become those of blobs.
func (in Input) patterns() (list []string) {
	for pattern := range strings.SplitSeq(in.Source, ",") {
		if pattern = strings.TrimSpace(pattern); pattern != "" {
			list = append(list, blobURL(pattern))
		}
	}
	return list
}

// names returns the names in Names, or nil if there are none.
func (in Input) names() []string {
	if in.Names == "" {
		return nil
	}
	return strings.Split(in.Names, ",")
}

func (in Input) skips() bool { return in.OnError == "skip" }
