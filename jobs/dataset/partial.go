package dataset

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Partial is the partial of a job that reads records. It is for a range of neighbouring partitions.
// The fields are exported only for the codec.
type Partial[A any] struct {
	_ struct{} `cbor:",toarray"`

	Setup        []byte
	From, To     uint64 // borders of the range: see part.borders. A partial has no index of a partition, because later jobs reuse partials under other indices
	Begins, Ends bool   // true if the range begins at the beginning of an object, or ends at the end of an object
	Bytes        int64  // number of bytes that were read

	// Readings contains one reading if the range certainly begins outside quotes. Otherwise the
	// first reading assumes a beginning outside quotes, and the second reading a beginning inside
	// quotes.
	Readings []Reading[A]
}

// merger merges partials.
type merger[A any] struct {
	folders *folders[A]
	merge   func(left, right A) (A, error)
	refuses bool // the job has a function Refuse
}

// Merge merges the partials of neighbouring ranges.
func (m merger[A]) Merge(left, right Partial[A]) (Partial[A], error) {
	if left.To != right.From && !(left.Ends && right.Begins) {
		return left, errors.New("partitions in the middle of an object were skipped, and the records at their borders cannot be read without them: do not skip partitions, or give the parameter on-error=skip")
	}
	var f *folder[A] // nil until a record at the border of the ranges must be folded
	defer func() {
		if f != nil {
			m.folders.put(left.Setup, f)
		}
	}()
	record := func(into *Reading[A], at rope, text []byte) (err error) {
		if f == nil {
			if f, err = m.folders.get(left.Setup); err != nil {
				return err
			}
		}
		if len(left.Readings) > 1 {
			defer func() { into.recoverTo(recover(), at.Object.Name, at.Offset) }()
		}
		f.use(at.Header)
		last := &into.Accs[len(into.Accs)-1]
		counted, err := f.record(last, at.Object.Name, text, at.Offset, true)
		into.count(counted, err, f.skip, at.Object.Name, at.Offset)
		return nil
	}
	readings := make([]Reading[A], 0, len(left.Readings))
	for _, l := range left.Readings {
		if l.Fault != nil {
			readings = append(readings, Reading[A]{Fault: l.Fault})
			continue
		}
		r := right.Readings[0]
		if l.Quoted {
			r = right.Readings[1] // left ends in the middle of an object, so right has both readings
		}
		both, err := m.join(l, r, record)
		if err != nil {
			return left, err
		}
		readings = append(readings, both)
	}
	if err := certain(readings); err != nil {
		return left, err
	}
	if m.refuses {
		if err := m.refused(left.Setup, readings); err != nil {
			return left, err
		}
	}
	return Partial[A]{
		Setup: left.Setup, From: left.From, To: right.To, Begins: left.Begins, Ends: right.Ends,
		Bytes: left.Bytes + right.Bytes, Readings: readings,
	}, nil
}

// refused returns the error of the job's Refuse if it refuses the readings of a range.
func (m merger[A]) refused(setup []byte, readings []Reading[A]) error {
	f, err := m.folders.get(setup)
	if err != nil {
		return err
	}
	defer m.folders.put(setup, f)
	return f.refused(readings)
}

// join joins the readings of two neighbouring ranges. It calls record to fold the record at the
// border, unless a part of the record must first be read again. join adds a record that must be
// read again to Waiting.
func (m merger[A]) join(l, r Reading[A], record func(into *Reading[A], at rope, text []byte) error) (Reading[A], error) {
	if r.Fault != nil {
		return Reading[A]{Fault: r.Fault}, nil
	}
	begin := l.Tail // text of the record at the border that is in the left range
	if !l.Cut {
		begin = l.Head
	}
	if begin.length()+r.Head.length() > maxRecord {
		return Reading[A]{Fault: &Fault{Object: begin.Object.Name, Offset: begin.Offset, Text: errLong.Error()}}, nil
	}
	out := l
	out.Quoted = r.Quoted
	switch {
	case !l.Cut:
		out = r
		out.Head = join(l.Head, r.Head)
		return out, nil
	case !r.Cut:
		out.Tail = join(l.Tail, r.Head)
		return out, nil
	}
	out.Tail = r.Tail
	border := join(l.Tail, r.Head)
	text, here := border.text()
	switch {
	case border.empty():
	case here:
		if err := record(&out, border, text); err != nil || out.Fault != nil {
			return Reading[A]{Fault: out.Fault}, err
		}
	default:
		out.Accs, out.Waiting = append(out.Accs, r.Accs...), append(append(out.Waiting, border), r.Waiting...)
	}
	if border.empty() || here {
		last := len(out.Accs) - 1
		merged, err := m.merge(out.Accs[last], r.Accs[0])
		if err != nil {
			return out, err
		}
		out.Accs[last] = merged
		out.Accs, out.Waiting = append(out.Accs, r.Accs[1:]...), append(out.Waiting, r.Waiting...)
	}
	out.Records += r.Records
	out.Skipped += r.Skipped
	out.Samples = append(out.Samples, r.Samples...)
	out.Samples = out.Samples[:min(len(out.Samples), maxSamples)]
	return out, nil
}

// certain returns an error if every reading of a range has a fault. If both readings have a fault,
// certain returns the fault at the higher offset, because the reading that reached a higher offset
// is more likely to be right.
func certain[A any](readings []Reading[A]) error {
	var last *Fault
	for _, r := range readings {
		if r.Fault == nil {
			return nil
		}
		if last == nil || r.Fault.Object == last.Object && r.Fault.Offset > last.Offset {
			last = r.Fault
		}
	}
	return jobs.Permanent(last)
}

// loadsInFlight is the maximum number of records that finish reads at the same time.
const loadsInFlight = 8

// finish reads and folds the records in Waiting, and returns the accumulator of the whole dataset.
func (m merger[A]) finish(ctx context.Context, from reader, root Partial[A]) (acc A, t Totals, err error) {
	if err := certain(root.Readings); err != nil {
		return acc, t, err
	}
	r := root.Readings[0]
	if r.Fault != nil {
		return acc, t, r.Fault
	}
	if !r.Cut || !r.Head.empty() || !r.Tail.empty() || len(r.Accs) != len(r.Waiting)+1 {
		return acc, t, errors.New("the root does not cover the dataset")
	}
	one := Reading[A]{Accs: r.Accs[:1], Records: r.Records, Skipped: r.Skipped, Samples: r.Samples}
	accs := r.Accs[1:]
	for waiting := range slices.Chunk(r.Waiting, loadsInFlight) {
		texts := make([][]byte, len(waiting))
		group, loading := errgroup.WithContext(ctx)
		for i, w := range waiting {
			group.Go(func() (err error) {
				texts[i], err = w.load(loading, from)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return acc, t, err
		}
		f, err := m.folders.get(root.Setup)
		if err != nil {
			return acc, t, err
		}
		for i, w := range waiting {
			f.use(w.Header)
			counted, err := f.record(&one.Accs[0], w.Object.Name, texts[i], w.Offset, true)
			if one.count(counted, err, f.skip, w.Object.Name, w.Offset); one.Fault != nil {
				return acc, t, jobs.Permanent(one.Fault)
			}
			if one.Accs[0], err = m.merge(one.Accs[0], accs[i]); err != nil {
				return acc, t, err
			}
		}
		accs = accs[len(waiting):]
		m.folders.put(root.Setup, f)
	}
	s, outputID, omitted, err := decodeSetup(root.Setup)
	if err != nil {
		return acc, t, err
	}
	t = Totals{OutputID: outputID, Types: s.types, Records: one.Records, Bytes: root.Bytes, Skipped: one.Skipped, Omitted: omitted}
	for _, s := range one.Samples {
		t.Samples = append(t.Samples, s.sample())
	}
	return one.Accs[0], t, nil
}

// firstLine returns the first line of a text. It removes the stack from the text of a panic.
func firstLine(text string) string {
	line, _, _ := bytes.Cut([]byte(text), []byte("\n"))
	return string(line)
}
