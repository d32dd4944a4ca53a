package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"regexp"
)

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// CheckKind checks the syntax of a definition's name and version.
func CheckKind(name, version string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("Name %.50q: want 1 to 40 lower-case letters, digits and dashes, the first a letter", name)
	}
	if version == "" || len(version) > 40 {
		return fmt.Errorf("Version %.50q: want 1 to 40 characters", version)
	}
	return nil
}

// Job calls the functions of a definition on encoded values. The methods may be called from several
// goroutines. If the definition's code panics, the methods return a *PanicError of package jobs.
// The parameters of a job are in the stored form, which the method Params of a job of package jobs
// returns.
type Job interface {
	// Open prepares this process to run partitions of a job with the plan that the definition's Plan
	// has returned. The caller must close the task.
	Open(ctx context.Context, params []byte, partitions uint64, planData []byte) (Task, error)

	// HasMerger reports whether the partials of a job with these parameters are merged by a function
	// that the definition's Merger returned, or may be moved to storage after a merge. Only workers may call Merge of
	// such a job.
	HasMerger(params []byte) bool

	// Spills reports whether the code of the job may move data to storage that no partial of the engine names.
	Spills() bool

	// Merge returns the encoded merge of two encoded partials of sibling nodes. An error is permanent
	// unless a partial could not be decoded, or the job has a merger.
	Merge(ctx context.Context, params []byte, left, right Operand) ([]byte, error)

	// Finish computes the result from the root's encoded partial and returns the result as JSON, and
	// its attachment or nil.
	Finish(ctx context.Context, params []byte, root Operand) (json.RawMessage, Attachment, error)

	// Estimates reports whether a job with these parameters has estimates or stops, so that its prefixes
	// are judged. For parameters that cannot be parsed Estimates returns false.
	Estimates(params []byte) bool

	// Estimate judges the encoded partial of the first n partitions. Only a job whose method Estimates
	// returns true has the function.
	Estimate(ctx context.Context, params []byte, prefix Operand, n uint64) (Estimate, error)

	// Rounds returns the largest number of rounds of a job with these parameters, or 0 if the job has no rounds.
	Rounds(params []byte) uint64

	// Start returns the encoded state of round 1. The parameter earlier is the encoded last state of an earlier job, or nil.
	// Only a job with rounds has the function.
	Start(ctx context.Context, params []byte, partitions uint64, planData, earlier []byte) (state []byte, err error)

	// Continues reports whether Start takes the last state of an earlier job.
	Continues() bool

	// Next computes what follows from a round whose partials are merged. Only a job with rounds has the function. Its
	// Finish gets the last state in place of the root's partial.
	Next(ctx context.Context, params []byte, round Round, total Operand) (Step, error)

	// InPlace reports whether the codec encodes and decodes partials without copying them.
	InPlace() bool

	// Large returns the functions for partials that exceed the memory of a worker, or none if the parameters cannot be parsed.
	Large(params []byte) Large

	// DecodedSize returns about how many bytes of memory a partial takes when it is decoded: the size
	// before the compression by a codec, otherwise the size of its encoding.
	DecodedSize(partial []byte) uint64
}

// Large are functions for partials that exceed the memory of a worker, which they read and write as streams. A function is
// nil if the job has none.
type Large struct {
	// Merge writes what [Job].Merge returns.
	Merge func(ctx context.Context, left, right io.Reader, merged io.Writer) error
	// Grows is true if a merged partial may be as large as both operands together. Otherwise it is as large as one.
	Grows bool
	// Finish returns what [Job].Finish returns. The attachment may read the root.
	Finish func(ctx context.Context, root *io.SectionReader) (json.RawMessage, Attachment, error)
}

// Operand is an encoded partial that is passed to [Job].Merge or [Job].Finish.
type Operand struct {
	Data []byte

	// Own is true if the caller is the only owner of the data. The function may then change the data
	// and return its memory, which saves a copy if the codec works in place. The caller must not use
	// the data again, not even after an error.
	Own bool
}

// Estimate is the judgement of a prefix.
type Estimate struct {
	Value json.RawMessage // what the definition's Estimate returned; null if it returned nothing
	Stop  bool            // the prefix suffices
}

// MaxEstimate is the maximum size in bytes of the JSON of an estimate. The manifest of a job has up to about
// 240 estimates.
const MaxEstimate = 1 << 10

// Attachment is a part of a result that is too large for JSON.
type Attachment interface {
	Name() string   // name that is shown to the user
	Size() int64    // size in bytes
	SHA256() string // SHA-256 of the bytes in hexadecimal

	// Pieces returns the bytes in pieces, of which each but the last one has the given size. A piece must not be changed.
	// The sequence ends with the first error.
	Pieces(ctx context.Context, size int) iter.Seq2[[]byte, error]
}
