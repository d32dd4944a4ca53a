package dataset

import (
	"context"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// owned contains the records that begin in the range of a partition. A record that begins exactly at a border belongs
// to the range before the border, because only that range is sure to find its beginning:
//
//	bytes       …2.5\nLi|ma,19.0\nRome,15.2\n|Cairo,30.1\n…
//	partitions       Lima   Rome              Cairo belongs to the same partition as Rome
type owned[D any] struct {
	rows             D
	first, last      Border
	bytes            int64
	records, skipped uint64
	samples          []Fault
}

// own reads the records that begin in a partition's range. It reads on after the range to the end of the last one.
func (m *mapper[P, A, R]) own(ctx context.Context, f *fork[A], partition uint64) (*owned[A], error) {
	scanners, bytes, err := m.read(ctx, f, partition)
	if err != nil {
		return nil, err
	}
	p := m.ranges.part(partition)
	s := likely(scanners)
	o := &owned[A]{first: Border{Object: p.objects[0].Name, Offset: p.from, Quoted: s != scanners[0]}, last: p.last(), bytes: bytes}
	o.last.Quoted = s.quoted
	if s.out.Fault == nil && s.out.Cut && !p.ends() && !s.layout.format.typed() {
		if err := s.readOn(ctx, f.read, p.objects[0], p.to); err != nil {
			return nil, permanent(err)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if s.out.Fault != nil {
		return nil, jobs.Permanent(s.out.Fault)
	}
	o.rows, o.records, o.skipped, o.samples = s.acc, s.out.Records, s.out.Skipped, s.out.Samples
	return o, nil
}

// last returns the border at the end of the part.
func (p part) last() Border {
	o := p.objects[len(p.objects)-1]
	if len(p.objects) > 1 {
		return Border{Object: o.Name, Offset: o.Size}
	}
	return Border{Object: o.Name, Offset: p.to}
}

// likely returns the reading of a range that is more likely to be right. A range is read as outside quotes unless
// that reading has a fault, or skips more records than the other reading, and the other reading has found the end of
// a record. Merge compares the readings of neighbouring ranges, so a wrong guess fails the job.
func likely[A any](scanners []*scanner[A]) *scanner[A] {
	outside := scanners[0]
	if len(scanners) == 1 {
		return outside
	}
	inside := scanners[1]
	switch {
	case inside.out.Fault != nil && outside.out.Fault != nil:
		if inside.out.Fault.Offset > outside.out.Fault.Offset {
			return inside
		}
	case inside.out.Fault == nil && inside.out.Cut && (outside.out.Fault != nil || outside.out.Skipped > inside.out.Skipped):
		return inside
	}
	return outside
}

// readOn folds the record that begins in the range of the scanner, or at its end, and ends after it. The parameter at
// is the end of the range.
func (s *scanner[A]) readOn(ctx context.Context, read *ahead, o source.Object, at int64) error {
	ended := false
	for size := int64(chunkSize / 4); !ended && s.out.Fault == nil && at < o.Size; size *= 2 {
		to := min(at+size, o.Size)
		err := read.eachPiece(ctx, o, at, to, nil, func(p piece) error {
			if ended || s.out.Fault != nil {
				return nil
			}
			if p.placed {
				s.place(p.offset)
			}
			data := p.data
			end := s.recordEnd(data, s.layout.hasQuotes(data))
			if ended = end >= 0; ended {
				data = data[:end]
			}
			if s.tail = append(s.tail, data...); len(s.tail) > maxRecord {
				s.out.refuse(Fault{Object: o.Name, Offset: s.from, Text: errLong.Error()}, false)
			}
			return nil
		})
		if err != nil {
			return err
		}
		at = to
	}
	switch {
	case s.out.Fault != nil:
	case ended:
		s.record(s.tail, s.from, true)
	default:
		s.at = o.Size
		s.endObject()
	}
	return nil
}
