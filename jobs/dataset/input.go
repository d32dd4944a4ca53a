package dataset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Input says which objects a job reads and how their bytes are divided into records. An Input can
// be the parameters of a job, or be made from them.
type Input struct {
	// Source names the objects: paths, patterns such as logs/*.csv, folders, azblob:// and https://
	// URLs, separated by commas. A comma in a name is written as ? in a pattern. The names of all
	// objects below a prefix are listed if it ends in a slash.
	Source string `json:"input" help:"the objects to read: paths, patterns, folders, azblob:// or https:// URLs, separated by commas"`

	// Format is one of lines, csv, tsv and ndjson, or auto: by the ending of the names. The endings
	// .gz and .zst say that an object is compressed, whatever the format.
	Format string `json:"format" oneof:"auto lines csv tsv ndjson" help:"the format of the objects; auto: by the ending of their names"`

	// Header says that the first line of each object names the columns (csv and tsv).
	Header bool `json:"header" help:"the first line of each object names the columns (csv, tsv)"`

	// Names are the names of the columns, separated by commas, in place of those of the header.
	Names string `json:"names" help:"names of the columns, separated by commas, in place of those of the header (csv, tsv)"`

	// Delimiter separates fields: one ASCII character. By default a comma, and a tab for tsv.
	Delimiter string `json:"delimiter" help:"the character between fields; by default a comma, and a tab for tsv"`

	// Quote encloses fields that contain delimiters, quotes or line ends: one ASCII character. Empty
	// means that no character does.
	Quote string `json:"quote" help:"the character around fields with delimiters or line ends; empty: none (csv, tsv)"`

	// Block is the size of a partition in bytes, about. The result does not depend on it if the
	// job's accumulators are exact.
	Block int64 `json:"block" min:"1" help:"bytes per partition, about"`

	// OnError says whether a record that cannot be read, or that Fold refuses, fails the job or is
	// skipped and counted.
	OnError string `json:"on-error" oneof:"fail skip" help:"what to do with a bad record: fail the job, or skip and count it"`
}

// DefaultBlock is the default size of a partition in bytes.
const DefaultBlock = 32 << 20

// Defaults returns an Input with the defaults, which names no objects.
func Defaults() Input {
	return Input{Format: "auto", Header: true, Quote: `"`, Block: DefaultBlock, OnError: "fail"}
}

// Validate implements jobs.Validator.
func (in *Input) Validate() error {
	for _, pattern := range in.patterns() {
		if err := source.CheckSecret(pattern); err != nil {
			return fmt.Errorf("parameter input: %w", err)
		}
	}
	for _, c := range []struct{ name, value string }{{"delimiter", in.Delimiter}, {"quote", in.Quote}} {
		if len(c.value) > 1 || c.value != "" && (c.value[0] >= 0x80 || c.value == "\n" || c.value == "\r" || c.value == "\x00") {
			return fmt.Errorf("parameter %s: got %q, takes one ASCII character that is no line end", c.name, c.value)
		}
	}
	if in.Delimiter != "" && in.Delimiter == in.Quote {
		return fmt.Errorf("parameters delimiter and quote are both %q: want different characters", in.Quote)
	}
	return nil
}

// check returns an error for an Input that no job can read.
func (in Input) check() error {
	if len(in.patterns()) == 0 {
		return errors.New("parameter input is empty: want the objects to read, such as input='logs/*.csv'")
	}
	if in.Block < 1 {
		return fmt.Errorf("parameter block: got %d, takes at least 1", in.Block)
	}
	return in.Validate()
}

// patterns returns the elements of Source.
func (in Input) patterns() (list []string) {
	for pattern := range strings.SplitSeq(in.Source, ",") {
		if pattern = strings.TrimSpace(pattern); pattern != "" {
			list = append(list, pattern)
		}
	}
	return list
}

func (in Input) skips() bool { return in.OnError == "skip" }
