package dataset

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Lines passes the lines of objects to code that reads bytes, such as another program. A line
// belongs to the partition in whose range it begins. To read a partition's last line, Lines may
// therefore read some bytes of the next partition's range.
type Lines struct {
	ranges ranges
	reader reader
}

// PlanLines lists the objects of an input and cuts them into partitions. It uses only the fields
// Source and Block of the input.
func PlanLines(ctx context.Context, in Input) (jobs.Plan, error) {
	return planLines(ctx, in, Open(ctx))
}

func planLines(ctx context.Context, in Input, from source.Driver) (jobs.Plan, error) {
	if err := in.check(); err != nil {
		return jobs.Plan{}, jobs.Permanent(err)
	}
	l, err := list(ctx, from, in)
	if err != nil {
		return jobs.Plan{}, err
	}
	return jobs.Plan{Partitions: cut(l, in.Block).count, Data: l.encode()}, nil
}

// OpenLines returns the Lines of a plan that [PlanLines] has made for the same input.
func OpenLines(ctx context.Context, in Input, plan jobs.Plan) (*Lines, error) {
	return openLines(in, plan, Open(ctx))
}

func openLines(in Input, plan jobs.Plan, from source.Driver) (*Lines, error) {
	l, err := decodeListing(plan.Data)
	if err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	lines := &Lines{ranges: cut(l, in.Block), reader: newReader(from)}
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

// Each calls do with consecutive pieces of a partition's lines, after decompression. The bytes are
// those of the object. If a partition reads several objects, Each adds a newline between two objects
// if the first one does not end in a newline, because otherwise two lines would become one. The slice
// data is valid until do returns.
func (l *Lines) Each(ctx context.Context, partition uint64, do func(data []byte) error) error {
	p := l.ranges.part(partition)
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
