package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Job is the code of a kind of job that reads records. P is the type of the parameters, A the type
// of an accumulator and R the type of the result, as in jobs.Definition. Accumulators are parts of
// partials, so encoding and decoding must not change a value of type A. An accumulator may be a
// [Splitter].
type Job[P, A, R any] struct {
	Name, Version, Summary string // fields of jobs.Definition
	Defaults               P

	// Input returns the input of a job. The function may be nil if P is Input or embeds it.
	Input func(p P) Input
	// Columns returns the names of the columns that Fold reads. If Columns is not nil,
	// Record.Field(i) returns the field of column i of the list. If Columns is nil, Record.Field(i)
	// returns the field of column i of the object, and after them those of the columns of its path.
	Columns func(p P) []string

	// Start returns an empty accumulator. By default the zero value of A is the empty accumulator.
	Start func() A
	// Fold adds a record to an accumulator. Fold is called for the records of an object in their
	// order. If Fold returns an error, the job fails. If the job's Input says that bad records are
	// skipped, the record is skipped instead. Fold must not change acc if it returns an error. Fold
	// may be called with records that do not exist: if a range contains quotes, both readings of
	// the range are computed until the right reading is known.
	Fold func(acc *A, r *Record) error
	// Open replaces Fold if folding a record depends on the parameters or on the columns. Open
	// returns a Fold function, which is called from only one goroutine.
	Open func(p P, columns []string) (fold func(acc *A, r *Record) error, err error)
	// Bulk, which may be nil, makes jobs faster. Bulk returns a function that folds many records of
	// delimited text in one call, or nil if the parameters do not allow bulk folding. The text
	// consists of complete records, is never the beginning of an object, and contains no quotes
	// unless the layout has no quotes. No parameter changes its fields (null, comment, trim, decimal, thousands, encoding). The function returns the number of bytes and of records that
	// it has folded. The function stops before the first record for which Fold may have another
	// effect, and before a record that is not UTF-8 or has a wrong number of fields. Fold gets the
	// record at which Bulk has stopped, or an error ends the reading. The functions of Open and
	// Bulk are called from one goroutine.
	Bulk func(p P, d Delimited) func(acc *A, text []byte) (used int, records uint64)
	// BulkRows replaces Bulk for Parquet. The function that BulkRows returns folds rows from the
	// current row on, at most to the end of the batch, and returns the number of folded rows. The
	// columns of rows are the columns that the job's Columns returns.
	BulkRows func(p P) func(acc *A, rows *parquet.Rows) int
	// Check, which may be nil, is called when a job that reads Parquet or Avro is planned. The parameter times has
	// an example of the texts of each column of dates, timestamps or times of day. If Check returns an error,
	// the job is refused.
	Check func(p P, times map[string]string) error
	// Skip, which may be nil, leaves out objects whose records the job does not need. It is called with
	// columns in the names of objects, and returns a function that reports whether the job needs no record in
	// which these columns have the values of the Record. Skip returns nil if the columns cannot tell. The fields
	// of the Record are the columns, in order, and it has no others.
	Skip func(p P, columns []string) func(r *Record) bool
	// Prepare, which may be nil, is called when a job is planned, with the names of the columns. If
	// it returns an error, the plan fails. Prepare reports whether Store must be called.
	Prepare func(ctx context.Context, p P, columns []string) (stores bool, err error)
	// Store moves a part of an accumulator to storage. Store is called several times for the
	// accumulator of a partition, and for the last time after all records of the partition. Store
	// must write to new names, as package output does. The reason is that a partition may be
	// computed more than once, and may have two accumulators if its text contains quotes.
	Store func(ctx context.Context, p P, at Place, acc *A) error
	// Discard removes the objects that Store has written to an output. Discard is called after a job has ended. If
	// the job has completed, Discard must remove nothing. Several processes may call Discard at the
	// same time.
	Discard func(ctx context.Context, p P, outputID string) error
	// Merge merges the accumulators of two neighbouring ranges of records. Merge may change and
	// return left or right.
	Merge func(left, right A) (A, error)
	// Refuse, which may be nil, is called with accumulators of parts of the input, after each partition and
	// each merge. If it returns an error, the job fails with this error at once. Refuse must return an error
	// only if Finish would fail with the same error for every input that contains the records. It must not
	// change acc.
	Refuse func(p P, acc A) error
	// Finish computes the result.
	Finish func(ctx context.Context, p P, acc A, totals Totals) (R, error)
	// Second, which may be nil, is the second pass of a job whose accumulators may be larger than a worker.
	Second *Second[P, A]

	Limits     jobs.Limits // limits of the definition's functions, as in jobs.Definition
	Restricted bool
}

// Delimited describes the records of delimited text.
type Delimited struct {
	Columns   []string // names of all columns, in order
	Delimiter byte
}

// Place identifies the part of a job for which Store is called.
type Place struct {
	OutputID  string // ID of the job's output, unique among all jobs that write to the same storage
	Partition uint64
	Last      bool // true if Store has received, or receives with this call, all records of the partition

	// Types are the types of values that an output can keep, by the names of the columns of the objects. They are those of the
	// first Parquet or Avro object, as package typed names them, and output.JSON for JSON objects. Other columns are text. Rounds get no types.
	Types map[string]string
}

// Totals are numbers about the whole input of a job.
type Totals struct {
	OutputID string            // as in Place; empty unless Prepare has requested calls of Store
	Types    map[string]string // as in Place
	Records  uint64            // number of records that were folded
	Bytes    int64             // size of all objects as they are stored, compressed or not
	Skipped  uint64            // number of skipped records; 0 unless the input says that bad records are skipped
	Samples  []Fault           // faults of the first skipped records; their offsets in objects of bgzip are virtual offsets of htslib

	// Omitted are the columns of the first Parquet object that a job which uses all columns leaves out,
	// because they have types that cannot be read.
	Omitted []string
}

// Define returns the job's definition, for jobs.New.
func Define[P, A, R any](j Job[P, A, R]) jobs.Definition[P, Partial[A], R] {
	return define(j, func(ctx context.Context) source.Driver { return Open(ctx) })
}

func define[P, A, R any](j Job[P, A, R], open func(ctx context.Context) source.Driver) jobs.Definition[P, Partial[A], R] {
	e := &engine[P, A, R]{job: j, open: open}
	e.merger = merger[A]{folders: &folders[A]{make: e.folder}, merge: j.Merge, refuses: j.Refuse != nil}
	d := jobs.Definition[P, Partial[A], R]{
		Name: j.Name, Version: j.Version, Summary: j.Summary, Defaults: j.Defaults,
		Plan: e.plan, Preview: e.preview, Open: e.openMapper, Merge: e.merger.Merge, Finish: e.finish, Codec: newCodec[A](),
		SecondPass: e.secondPass(), Limits: j.Limits, Restricted: j.Restricted,
	}
	if (j.Fold == nil) == (j.Open == nil) || j.Merge == nil || j.Finish == nil || j.Store != nil && (j.Prepare == nil || j.Discard == nil) {
		d.Plan = nil // a nil Plan makes jobs.New refuse the definition
	}
	return d
}

// engine runs the jobs of one definition.
type engine[P, A, R any] struct {
	job    Job[P, A, R]
	open   func(ctx context.Context) source.Driver // returns the driver of the objects that a job may use
	merger merger[A]
}

func (e *engine[P, A, R]) input(p P) (Input, error) {
	var in Input
	if e.job.Input != nil {
		in = e.job.Input(p)
	} else if holder, ok := any(p).(interface{ input() Input }); ok {
		in = holder.input()
	} else {
		return in, errors.New("the job has no function Input: want one, or parameters that embed Input")
	}
	return in, in.check()
}

func (e *engine[P, A, R]) columns(p P) []string {
	if e.job.Columns == nil {
		return nil
	}
	return e.job.Columns(p)
}

// folder makes a folder.
func (e *engine[P, A, R]) folder(s setup) (*folder[A], error) {
	var p P
	if err := cbor.Unmarshal(s.Params, &p); err != nil {
		return nil, fmt.Errorf("decode parameters: %w", err)
	}
	in, err := e.input(p)
	if err != nil {
		return nil, err
	}
	f := &folder[A]{skip: in.skips(), start: e.job.Start, fold: e.job.Fold}
	if f.start == nil {
		f.start = func() (zero A) { return zero }
	}
	if f.variants, err = e.variants(p, in, s); err != nil {
		return nil, err
	}
	f.use(0)
	if e.job.Open != nil {
		f.fold, err = e.job.Open(p, slices.Concat(s.Columns, s.path))
	}
	if e.job.Refuse != nil {
		f.refuse = func(acc A) error { return e.job.Refuse(p, acc) }
	}
	return f, err
}

// variants makes the parts of a folder that depend on the columns of objects.
func (e *engine[P, A, R]) variants(p P, in Input, s setup) (list []variant[A], err error) {
	wanted := e.columns(p)
	if len(s.headers) == 0 {
		v, err := e.variant(p, newLayout(in, s.Format, s.Columns, wanted, s.path), s.path != nil)
		return []variant[A]{v}, err
	}
	if wanted == nil {
		wanted = slices.Concat(s.Columns, s.path)
	}
	for _, columns := range s.headers {
		v, err := e.variant(p, newLayout(in, s.Format, columns, wanted, nil), false)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// variant makes one of these parts. The parameter all is true if the job wants all columns of
// the objects and of their paths.
func (e *engine[P, A, R]) variant(p P, l *layout, all bool) (v variant[A], err error) {
	v.layout = l
	if v.rec, err = l.newRecord(); err != nil || l.path != nil && !all { // the functions below read only columns of the objects
		return v, err
	}
	if e.job.Bulk != nil && (l.format == csv || l.format == tsv) && l.columns != nil && l.isPlain() && l.charset == nil {
		v.bulk = e.job.Bulk(p, Delimited{l.columns, l.delimiter})
	}
	if e.job.BulkRows != nil && l.format == parquetFormat {
		v.bulkRows = e.job.BulkRows(p)
	}
	return v, nil
}

func (e *engine[P, A, R]) finish(ctx context.Context, p P, root Partial[A]) (result R, err error) {
	acc, totals, err := e.merger.finish(ctx, newReader(e.open(ctx)), root)
	if err != nil {
		return result, err
	}
	return e.job.Finish(ctx, p, acc, totals)
}

// mapper computes the partials of partitions. All slots share the mapper and its list of objects.
type mapper[P, A, R any] struct {
	*engine[P, A, R]
	reader    reader
	params    P
	outputID  string            // as in Place; empty if Store is not called
	types     map[string]string // as in Place
	spills    bool              // the job may have a second pass
	ranges    ranges
	setup     []byte
	setupKey  [sha256.Size]byte // SHA-256 of setup
	folder    func() (*folder[A], error)
	transfers *transfers

	identities *identities
}

var (
	_ jobs.Forker[Partial[int]] = (*mapper[Input, int, int])(nil)
	_ jobs.Cleaner              = (*mapper[Input, int, int])(nil)
	_ jobs.Keyer                = (*mapper[Input, int, int])(nil)
	_ jobs.Inputs               = (*mapper[Input, int, int])(nil)
	_ io.Closer                 = (*mapper[Input, int, int])(nil)
)

// Close ends reading in advance.
func (m *mapper[P, A, R]) Close() error {
	m.transfers.close()
	return nil
}

// CleanUp calls the job's Discard.
func (m *mapper[P, A, R]) CleanUp(ctx context.Context) error {
	if m.outputID == "" {
		return nil
	}
	return m.job.Discard(ctx, m.params, m.outputID)
}

// Key implements jobs.Keyer. A partial depends on the setup, which contains the columns of the dataset, and
// on the partition's ranges of objects. The partials of a job that stores parts of accumulators refer to
// objects of this job, so no other job reuses them.
func (m *mapper[P, A, R]) Key(_ context.Context, partition uint64) []byte {
	if m.outputID != "" {
		return nil
	}
	return m.identities.key(m.setupKey[:], m.ranges.part(partition))
}

// Inputs implements jobs.Inputs.
func (m *mapper[P, A, R]) Inputs(partition uint64) []jobs.InputObject {
	return m.ranges.part(partition).inputs()
}

// Map computes a partition with a new fork.
func (m *mapper[P, A, R]) Map(ctx context.Context, partition uint64) (Partial[A], error) {
	return m.Fork()(ctx, partition)
}

// Fork implements jobs.Forker.
func (m *mapper[P, A, R]) Fork() func(ctx context.Context, partition uint64) (Partial[A], error) {
	f := m.newFork()
	return func(ctx context.Context, partition uint64) (Partial[A], error) { return m.compute(ctx, f, partition) }
}

// fork is what a slot needs to read partitions, one after the other.
type fork[A any] struct {
	read *ahead
	list [2]*folder[A] // folders for the two readings of a range
}

func (m *mapper[P, A, R]) newFork() *fork[A] {
	return &fork[A]{read: &ahead{transfers: m.transfers}}
}

// compute computes the partial of a partition.
func (m *mapper[P, A, R]) compute(ctx context.Context, f *fork[A], partition uint64) (Partial[A], error) {
	p := m.ranges.part(partition)
	out := Partial[A]{Setup: m.setup, Begins: p.begins(), Ends: p.ends()}
	out.From, out.To = p.borders()
	scanners, bytes, err := m.read(ctx, f, partition)
	if err != nil {
		return out, err
	}
	out.Bytes = bytes
	for _, s := range scanners {
		out.Readings = append(out.Readings, s.end(out.Ends))
	}
	if err := certain(out.Readings); err != nil || m.job.Refuse == nil {
		return out, err
	}
	return out, f.list[0].refused(out.Readings)
}

// read passes the input of a partition to one scanner, or to two if the partition may begin inside quotes. It
// returns the scanners and the number of bytes.
func (m *mapper[P, A, R]) read(ctx context.Context, f *fork[A], partition uint64) (scanners []*scanner[A], bytes int64, err error) {
	for i := range f.list {
		if f.list[i] == nil {
			if f.list[i], err = m.folder(); err != nil {
				return nil, 0, err
			}
		}
	}
	p := m.ranges.part(partition)
	f.read.begin(partition)
	both := !p.begins() && f.list[0].layout.quote != 0
	scanners = []*scanner[A]{newScanner(f.list[0], p.objects[0], p.from, false, !both)}
	if both {
		scanners = append(scanners, newScanner(f.list[1], p.objects[0], p.from, true, false))
	}
	var stopped atomic.Bool
	defer context.AfterFunc(ctx, func() { stopped.Store(true) })()
	for _, s := range scanners {
		s.stopped = &stopped
	}
	for i, o := range p.objects {
		from, to := int64(0), o.Size
		if len(p.objects) == 1 {
			from, to = p.from, p.to
		}
		for _, s := range scanners {
			if i > 0 {
				s.begin(o, 0)
			}
		}
		later := m.later(f.read, partition, p.objects[i+1:])
		store := func() error { return m.store(ctx, scanners, partition, false) }
		if err := m.scan(ctx, f.read, scanners, segment{o, from, to}, later, store); err != nil {
			return scanners, bytes, permanent(err)
		}
		bytes += to - from
	}
	return scanners, bytes, m.store(ctx, scanners, partition, true)
}

// scan folds the records of a range of an object. It calls store again and again while it reads.
func (m *mapper[P, A, R]) scan(ctx context.Context, read *ahead, scanners []*scanner[A], s segment, later []segment, store func() error) (err error) {
	first := scanners[0]
	switch first.layout.format {
	case parquetFormat:
		err = m.groups(ctx, first, s.object, s.from, s.to, store)
		first.out.Cut = true
	case avroFormat:
		err = first.blocks(ctx, read, s, later, store)
		first.out.Cut = true
	default:
		err = read.eachPiece(ctx, s.object, s.from, s.to, later, func(p piece) error {
			alive, quotes := 0, first.layout.hasQuotes(p.data)
			for _, s := range scanners {
				if p.placed {
					s.place(p.offset)
				}
				if feed(s, p.data, quotes); s.out.Fault == nil {
					alive++
				}
			}
			if alive == 0 {
				return errDead
			}
			return store()
		})
	}
	if stopped := context.Cause(ctx); stopped != nil {
		return stopped
	}
	if err != nil && !errors.Is(err, errDead) {
		return err
	}
	for _, one := range scanners {
		switch {
		case first.layout.format.typed():
		case s.to == s.object.Size:
			one.endObject()
		default:
			one.endBlock()
		}
	}
	return nil
}

// later returns the first segments that a slot needs after an object of a partition: the partition's
// other objects, and the beginning of the partition that the slot will probably compute next.
func (m *mapper[P, A, R]) later(read *ahead, partition uint64, objects listing) (list []segment) {
	for _, o := range objects[:min(len(objects), maxEarly)] {
		list = append(list, m.reader.segments(o, 0, o.Size)...)
	}
	if len(list) < maxEarly {
		list = append(list, read.following(m.ranges, partition)...)
	}
	return list
}

// permanent marks an error as permanent if it is in the content of an object.
func permanent(err error) error {
	if _, fault := errors.AsType[*Fault](err); fault || errors.Is(err, source.ErrChanged) {
		return jobs.Permanent(err)
	}
	return err
}

// store calls the job's Store and the Spill of its second pass for the accumulators of the readings that have no fault.
func (m *mapper[P, A, R]) store(ctx context.Context, scanners []*scanner[A], partition uint64, last bool) error {
	stores := m.outputID != "" && m.job.Store != nil
	for _, s := range scanners {
		if s.out.Fault != nil {
			continue
		}
		if stores {
			if err := m.job.Store(ctx, m.params, Place{m.outputID, partition, last, m.types}, &s.acc); err != nil {
				return err
			}
		}
		if m.spills {
			if err := m.job.Second.Spill(ctx, m.params, &s.acc, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// errDead ends the reading of a range because both readings of the range have a fault.
var errDead = errors.New("no reading is left")

// feed passes data to a scanner. If Fold panics in a reading that may be the wrong one, feed ends
// the reading with a fault instead of panicking.
func feed[A any](s *scanner[A], data []byte, quotes bool) {
	if !s.certain {
		defer func() { s.out.recoverTo(recover(), s.object.Name, s.folder.rec.offset) }()
	}
	s.feed(data, quotes)
}
