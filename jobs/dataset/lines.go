package dataset

import (
	"bytes"
	"context"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Lines passes the content of objects to code that reads bytes, such as another program: the lines of
// ranges, or whole objects. A line belongs to the partition in whose range it begins. To read a
// partition's last line, Lines may therefore read some bytes of the next partition's range.
type Lines struct {
	ranges     ranges
	reader     reader
	whole      bool // true if each partition is an object, whose bytes are passed as they are stored
	identities *identities
}

// Split determines how Lines divides the objects of an input among partitions. With the zero Split, a
// partition has the lines of about Input.Block bytes, in one object or in several.
type Split struct {
	Objects bool   // each object is a partition, and is not decompressed
	Lines   uint64 // number of lines of a partition; the last partition of an object may have fewer
}

// PlanLines lists the objects of an input and divides them among partitions. It uses only the fields
// Source and Block of the input. With Split.Lines it also reads the objects, to find where the partitions
// begin.
func PlanLines(ctx context.Context, in Input, split Split) (jobs.Plan, error) {
	return planLines(ctx, in, split, Open(ctx))
}

func planLines(ctx context.Context, in Input, split Split, from source.Driver) (jobs.Plan, error) {
	if err := in.check(); err != nil {
		return jobs.Plan{}, jobs.Permanent(err)
	}
	l, err := list(ctx, from, in, nil)
	if err != nil {
		return jobs.Plan{}, err
	}
	if split.Lines == 0 {
		return jobs.Plan{Partitions: split.divide(l, in.Block).count, Data: l.encode()}, nil
	}
	sizes, err := newReader(from).lineSizes(ctx, l, split.Lines)
	if err != nil {
		return jobs.Plan{}, permanent(err)
	}
	data, err := cbor.Marshal(linePlan{l.encode(), encodeSizes(sizes)})
	return jobs.Plan{Partitions: divideAt(l, sizes).count, Data: data}, err
}

// divide divides a listing if Lines is 0.
func (s Split) divide(l listing, block int64) ranges {
	if s.Objects {
		return each(l)
	}
	return cut(l, block)
}

// OpenLines returns the Lines of a plan that [PlanLines] has made for the same input and split.
func OpenLines(ctx context.Context, in Input, split Split, plan jobs.Plan) (*Lines, error) {
	return openLines(in, split, plan, Open(ctx))
}

func openLines(in Input, split Split, plan jobs.Plan, from source.Driver) (*Lines, error) {
	data := linePlan{Listing: plan.Data}
	if split.Lines > 0 {
		if err := cbor.Unmarshal(plan.Data, &data); err != nil {
			return nil, fmt.Errorf("decode plan: %w", err)
		}
	}
	l, err := decodeListing(data.Listing)
	if err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	lines := &Lines{reader: newReader(from), whole: split.Objects, identities: newIdentities(from)}
	if split.Lines == 0 {
		lines.ranges = split.divide(l, in.Block)
	} else {
		sizes, err := decodeSizes(data.Sizes, l)
		if err != nil {
			return nil, fmt.Errorf("decode plan: %w", err)
		}
		lines.ranges = divideAt(l, sizes)
	}
	if lines.ranges.count != plan.Partitions {
		return nil, fmt.Errorf("the plan has %d partitions, this program cuts its listing into %d: want workers of the version that planned the job", plan.Partitions, lines.ranges.count)
	}
	return lines, nil
}

// Range returns the objects that a partition reads, the offset of the first byte, and the number of
// bytes. If the partition reads several objects, the offset is 0.
func (l *Lines) Range(partition uint64) (objects []string, offset, length int64) {
	p := l.ranges.part(partition)
	for _, o := range p.objects {
		objects = append(objects, o.Name)
		length += o.Size
	}
	if len(p.objects) == 1 {
		offset, length = p.from, p.to-p.from
	}
	return objects, offset, length
}

// Whole reports whether a partition reads objects from their beginning to their end.
func (l *Lines) Whole(partition uint64) bool {
	p := l.ranges.part(partition)
	return p.begins() && p.ends()
}

// Key returns what the lines of a partition depend on, for jobs.Keyer. Key returns nil if an object may
// change without a trace.
func (l *Lines) Key(partition uint64) []byte {
	return l.identities.key(nil, l.ranges.part(partition))
}

// Inputs returns the objects that a partition reads, for jobs.Inputs.
func (l *Lines) Inputs(partition uint64) []jobs.InputObject { return l.ranges.part(partition).inputs() }

// Each calls do with consecutive pieces of a partition's lines, after decompression, or of the partition's
// object as it is stored. The bytes are those of the object. If a partition reads several objects, Each adds a newline between two objects
// if the first one does not end in a newline, because otherwise two lines would become one. The slice
// data is valid until do returns.
func (l *Lines) Each(ctx context.Context, partition uint64, do func(data []byte) error) error {
	p := l.ranges.part(partition)
	if l.whole {
		return permanent(l.reader.stored(ctx, p.objects[0], do))
	}
	read := &ahead{transfers: newTransfers(l.reader)}
	defer read.close()
	err := func() error {
		if !p.begins() || !p.ends() {
			return eachOfRange(ctx, read, p, do)
		}
		w := &lineWriter{do: do}
		for _, o := range p.objects {
			w.next()
			if err := read.each(ctx, o, 0, o.Size, nil, w.write); err != nil {
				return err
			}
		}
		return nil
	}()
	return permanent(err)
}

// stored calls do with consecutive pieces of an object as it is stored.
func (r reader) stored(ctx context.Context, o source.Object, do func(data []byte) error) error {
	stream := r.open(ctx, o, 0, o.Size)
	defer stream.Close()
	buffer := make([]byte, min(chunkSize, o.Size))
	for at := int64(0); at < o.Size; {
		n, err := stream.Read(buffer)
		if at += int64(n); at < o.Size && err != nil {
			return err
		}
		if err := do(buffer[:n]); err != nil {
			return err
		}
	}
	return nil
}

// eachOfRange calls do with consecutive pieces of the lines that begin in a range of one object.
func eachOfRange(ctx context.Context, read *ahead, p part, do func(data []byte) error) error {
	o, w := p.objects[0], &lineWriter{do: do}
	begun := p.begins()
	at := max(0, p.from-1) // a line begins at p.from if the byte before is a newline
	err := read.each(ctx, o, at, p.to, nil, func(data []byte) error {
		next := at + int64(len(data))
		defer func() { at = next }()
		if !begun {
			newline := bytes.IndexByte(data, '\n')
			if newline < 0 || at+int64(newline)+1 == p.to {
				return nil
			}
			begun, data = true, data[newline+1:]
		}
		return w.write(data)
	})
	if err != nil || !begun {
		return err
	}
	for size := int64(chunkSize / 4); w.open && at < o.Size; size *= 2 {
		err := read.each(ctx, o, at, min(at+size, o.Size), nil, func(data []byte) error {
			at += int64(len(data))
			if !w.open {
				return nil
			}
			if newline := bytes.IndexByte(data, '\n'); newline >= 0 {
				data = data[:newline+1]
			}
			return w.write(data)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lineWriter passes the data of objects to do, and separates lines of different objects.
type lineWriter struct {
	do    func(data []byte) error
	open  bool // true if the last line does not end in a newline
	begin bool // true if data belongs to another object than the last line
}

// next tells the writer that the data of another object follows.
func (w *lineWriter) next() { w.begin = true }

func (w *lineWriter) write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if w.begin && w.open {
		if err := w.do([]byte{'\n'}); err != nil {
			return err
		}
	}
	w.begin, w.open = false, data[len(data)-1] != '\n'
	return w.do(data)
}
