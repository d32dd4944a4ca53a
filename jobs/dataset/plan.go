package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// planData is the data of a job's plan.
type planData struct {
	Format   format   `cbor:"1,keyasint"`
	Columns  []string `cbor:"2,keyasint"`
	Listing  []byte   `cbor:"3,keyasint"`
	OutputID string   `cbor:"4,keyasint,omitempty"` // as in Place
	Omitted  []string `cbor:"5,keyasint,omitempty"` // as in Totals
	Path     []string `cbor:"6,keyasint,omitempty"` // columns of the paths of a job that uses all columns

	Types map[string]string `cbor:"7,keyasint,omitempty"` // as in Place; only of a job with an output
	Bgzip indexList         `cbor:"8,keyasint,omitempty"` // as bgzipObjects returns them

	// Headers and HeaderOf are set if columns are read by name: the different lists of columns, and the list of each object.
	Headers  [][]string `cbor:"9,keyasint,omitempty"`
	HeaderOf indexList  `cbor:"10,keyasint,omitempty"`
}

// plan lists the objects of a job and reads the names of their columns. The plan contains the list
// and the names, so that all workers use the same input.
func (e *engine[P, A, R]) plan(ctx context.Context, p P) (jobs.Plan, error) {
	in, err := e.input(p)
	if err != nil {
		return jobs.Plan{}, jobs.Permanent(err)
	}
	from := e.open(ctx)
	data, l, err := e.listObjects(ctx, p, in, from, e.newPruner(p))
	if err != nil {
		return jobs.Plan{}, err
	}
	reader := newReader(from).decoding(in)
	if err := checkColumns(data.Columns); err != nil {
		return jobs.Plan{}, jobs.Permanent(&Fault{Object: l[0].Name, Text: err.Error()})
	}
	if e.columns(p) == nil {
		data.Path = l.pathColumns(data.Columns)
		data.Omitted = reader.omitted(ctx, data.Format, data.samples(l))
		if len(data.Columns) == 0 && len(data.Omitted) > 0 {
			text := fmt.Sprintf("no column can be read, because of their types: %s; the rows can be counted, for example with aggregate=count", names.List(data.Omitted))
			return jobs.Plan{}, jobs.Permanent(&Fault{Object: l[0].Name, Text: text})
		}
	}
	if err := e.checkPlan(p, data, l); err != nil {
		if omitted := reader.omitted(ctx, data.Format, data.samples(l)); len(omitted) > 0 {
			err = fmt.Errorf("%w; these columns cannot be read, because of their types: %s", err, names.List(omitted))
		}
		return jobs.Plan{}, jobs.Permanent(err)
	}
	if err := e.checkTimes(ctx, p, data, reader, l); err != nil {
		return jobs.Plan{}, err
	}
	if e.job.Prepare != nil {
		stores, err := e.job.Prepare(ctx, p, slices.Concat(data.Columns, data.Path))
		if err != nil {
			return jobs.Plan{}, err
		}
		if stores {
			data.OutputID = output.NewID()
			if data.Types, err = reader.outputTypes(ctx, data, l, e.columns(p)); err != nil {
				return jobs.Plan{}, err
			}
		}
	}
	if data.Bgzip, err = reader.bgzipObjects(ctx, in, data.Format, l); err != nil {
		return jobs.Plan{}, permanent(err)
	}
	encoded, err := cbor.Marshal(data)
	if err != nil {
		return jobs.Plan{}, err
	}
	return jobs.Plan{Partitions: in.cut(l, data.Bgzip).count, Data: encoded}, nil
}

// listObjects returns the list of a job's objects, and a plan with the list and the names of the columns.
func (e *engine[P, A, R]) listObjects(ctx context.Context, p P, in Input, from source.Driver, prune *pruner) (data planData, l listing, err error) {
	if l, err = list(ctx, from, in, prune); err == nil && len(l) == 0 {
		l, err = list(ctx, from, in, nil)
		l = l[:min(len(l), 1)] // the job needs no record, but the names of the columns
	}
	if err != nil {
		return data, nil, err
	}
	data.Listing = l.encode()
	if data.Format, err = in.formatOfAll(l); err == nil {
		err = in.checkFormat(data.Format)
	}
	if err != nil {
		return data, nil, jobs.Permanent(err)
	}
	reader := newReader(from).decoding(in)
	if in.Union != "" {
		u, err := reader.unionOf(ctx, in, data.Format, l)
		if err != nil {
			return data, nil, err
		}
		data.Columns, data.Headers, data.HeaderOf = u.columns(), u.headers(), u.of
	} else if data.Columns, err = reader.columns(ctx, in, data.Format, l); err != nil {
		return data, nil, err
	}
	inside := data.Columns // columns of the objects
	switch {
	case data.Format == avroFormat && e.job.Columns != nil:
		if data.Columns, err = reader.avroPaths(ctx, l, data.Columns, e.columns(p)); err != nil {
			return data, nil, err
		}
		inside = data.Columns
	case data.Format == ndjson && e.job.Columns != nil:
		if data.Columns, err = reader.memberColumns(ctx, l, in.names(), e.columns(p)); err != nil {
			return data, nil, err
		}
		if inside = data.Columns; inside == nil {
			inside = e.columns(p)
		}
	}
	if prune.hidden(inside) {
		return e.listObjects(ctx, p, in, from, nil)
	}
	return data, l, nil
}

// checkPlan returns an error if the job needs a column that neither the objects nor their names have, or if no folder can be
// made for another reason.
func (e *engine[P, A, R]) checkPlan(p P, data planData, l listing) error {
	if data.Columns != nil && data.Format != ndjson { // memberColumns has checked those of ndjson
		if err := l.checkWanted(data.Columns, e.columns(p)); err != nil {
			return err
		}
	}
	_, _, err := e.prepare(p, data)
	return err
}

// checkTimes calls the job's Check with the columns of the first Parquet or Avro object.
func (e *engine[P, A, R]) checkTimes(ctx context.Context, p P, data planData, from reader, l listing) error {
	if e.job.Check == nil || !data.Format.typed() {
		return nil
	}
	_, times, err := from.types(ctx, data, l)
	if err != nil {
		return err
	}
	if err := e.job.Check(p, times); err != nil {
		return jobs.Permanent(err)
	}
	return nil
}

// types returns the types of columns of the first Avro object, or of the Parquet objects whose columns are used, and examples of the
// texts of times.
func (r reader) types(ctx context.Context, data planData, l listing) (types []string, times map[string]string, err error) {
	if data.Format == avroFormat {
		file, _, err := r.firstAvro(ctx, l)
		if err != nil || file == nil {
			return make([]string, len(data.Columns)), nil, err
		}
		s, _ := file.Select(data.Columns)
		return s.Types(), s.Times(), nil
	}
	_, shown, times, err := r.columnTypes(ctx, data.samples(l))
	for _, name := range data.Columns {
		types = append(types, shown[name])
	}
	return types, times, err
}

// openMapper returns the mapper for a job that a worker opens.
func (e *engine[P, A, R]) openMapper(ctx context.Context, p P, plan jobs.Plan) (jobs.Mapper[Partial[A]], error) {
	in, err := e.input(p)
	if err != nil {
		return nil, err
	}
	data, l, err := decodePlan(plan)
	if err != nil {
		return nil, err
	}
	from := e.open(ctx)
	reader := newReader(from).decoding(in)
	m := &mapper[P, A, R]{engine: e, reader: reader, params: p, outputID: data.OutputID, types: data.Types, ranges: in.cut(l, data.Bgzip), transfers: newTransfers(reader), identities: newIdentities(from)}
	m.spills = e.job.Second != nil && e.job.Second.Has(p)
	if m.ranges.count != plan.Partitions {
		return nil, fmt.Errorf("the plan has %d partitions, this program cuts its listing into %d: want workers of the version that planned the job", plan.Partitions, m.ranges.count)
	}
	var s setup
	if s, m.setup, err = e.prepare(p, data); err != nil {
		return nil, err
	}
	m.setupKey = sha256.Sum256(m.setup)
	headerOf := data.headerOf(l)
	m.folder = func() (*folder[A], error) {
		f, err := e.folder(s)
		if err == nil {
			f.headerOf = headerOf
		}
		return f, err
	}
	return m, nil
}

// prepare returns the setup of a job, and the setup in its encoded form. It returns an error if no
// folder can be made from the setup.
func (e *engine[P, A, R]) prepare(p P, data planData) (s setup, encoded []byte, err error) {
	s = setup{Format: data.Format, Columns: data.Columns, path: data.Path, types: data.Types, headers: data.Headers}
	if s.Params, err = encodeParams(p); err != nil {
		return s, nil, err
	}
	if _, err = e.folder(s); err != nil {
		return s, nil, err
	}
	encoded, err = cbor.Marshal(s)
	if len(data.Types) > 0 && err == nil {
		var types []byte
		types, err = typesEncoding.Marshal(data.Types)
		encoded = append(encoded, types...)
	}
	if len(data.Headers) > 0 && err == nil {
		var headers []byte
		headers, err = cbor.Marshal(data.Headers)
		encoded = append(encoded, headers...)
	}
	encoded = append(encoded, data.OutputID...)
	for _, name := range data.Omitted {
		encoded = append(append(encoded, 0), name...)
	}
	for i, name := range data.Path {
		if i == 0 {
			encoded = append(encoded, 0) // an empty omitted column ends those columns
		}
		encoded = append(append(encoded, 0), name...)
	}
	return s, encoded, err
}

// maxHeader is the maximum size in bytes of the first record of an object from which the names of
// the columns are read.
const maxHeader = 16 << 20

// columns returns the names of the columns. The names come from the parameter names, or from the
// header of the first object that is not empty. Without a header, the columns are called c1, c2 and
// so on. columns returns nil for ndjson, whose names memberColumns returns, and if all objects are empty.
func (r reader) columns(ctx context.Context, in Input, f format, l listing) ([]string, error) {
	switch f {
	case lines:
		return []string{"line"}, nil
	case ndjson:
		return nil, nil
	case parquetFormat:
		return r.parquetColumns(ctx, l)
	case avroFormat:
		return r.avroColumns(ctx, l)
	}
	if in.Names != "" {
		return in.names(), nil
	}
	layout := newLayout(in, f, nil, nil, nil)
	for _, o := range l {
		if o.Size == 0 {
			continue
		}
		text, err := r.firstRecord(ctx, o, layout)
		if err != nil {
			return nil, permanent(err)
		}
		if text == nil {
			continue
		}
		if layout.charset != nil {
			text = layout.charset.append(nil, text)
		}
		columns, err := headerOf(layout, text)
		if isUTF16(text) {
			err = errUTF16
		} else if err == nil && !validUTF8(text) {
			err = errUTF8
		}
		if err == nil && in.Header && bytes.IndexByte(text, '\r') >= 0 && bytes.IndexByte(text, '\n') < 0 {
			err = errCarriageReturns
		}
		if err != nil {
			return nil, jobs.Permanent(&Fault{Object: o.Name, Text: err.Error()})
		}
		if !in.Header {
			for i := range columns {
				columns[i] = fmt.Sprintf("c%d", i+1)
			}
		}
		return columns, nil
	}
	return nil, nil
}

// parquetColumns returns the names of the columns of the first object.
func (r reader) parquetColumns(ctx context.Context, l listing) ([]string, error) {
	f, _, err := r.openParquet(ctx, l[0])
	if fault, ok := errors.AsType[*Fault](err); ok {
		err = jobs.Permanent(fault)
	}
	if err != nil {
		return nil, err
	}
	return f.Columns(), nil
}

// omitted returns descriptions of the columns of the first Parquet object that cannot be read, or if columns are read by name, of all
// the given objects.
func (r reader) omitted(ctx context.Context, f format, l listing) (list []string) {
	if f != parquetFormat {
		return nil
	}
	for _, o := range l {
		file, _, err := r.openParquet(ctx, o)
		if err != nil {
			return nil // the error is ignored here, because the caller reports another error
		}
		for _, name := range file.Omitted() {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// firstRecord returns the first record of an object. It skips comment lines, and if the objects have no header, empty
// records. If the object has no record, firstRecord returns nil.
func (r reader) firstRecord(ctx context.Context, o source.Object, l *layout) ([]byte, error) {
	c, err := r.content(ctx, o, 0, o.Size)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var all []byte
	at := 0 // beginning of the first record that has not been read
	for err == nil && len(all) < maxHeader {
		begin, n := len(all), 0
		all = append(all, make([]byte, min(max(64<<10, begin), maxHeader-begin))...)
		n, err = c.fill(all[begin:])
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		all = all[:begin+n]
		for quotes := l.hasQuotes(all[at:]); ; {
			s := scanner[int]{folder: &folder[int]{layout: l}}
			end := s.recordEnd(all[at:], quotes)
			if end < 0 && err == nil {
				break // more bytes are needed to complete the record
			}
			if end < 0 {
				end = len(all) - at
			}
			text := trim(all[at:at+end], int64(at))
			comment, bad := l.isComment(text)
			if bad != nil {
				return nil, jobs.Permanent(&Fault{Object: o.Name, Offset: int64(at), Text: bad.Error()})
			}
			if !comment && (len(text) > 0 || l.header && end > 0) {
				return text, nil
			}
			if end == 0 {
				return nil, nil
			}
			at += end
		}
	}
	if len(all) >= maxHeader {
		return nil, jobs.Permanent(&Fault{Object: o.Name, Text: fmt.Sprintf("the first record is longer than %d bytes: check the parameters delimiter and quote", maxHeader)})
	}
	return nil, nil
}
