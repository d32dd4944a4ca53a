package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/member"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// membersBytes is the number of bytes at the beginning of an object that are searched for the members that
// a job uses.
const membersBytes = 1 << 20

// memberColumns returns the names of the columns of JSON objects for a job that uses all members: those of
// the first records, in their order, and then the declared ones. For a job that wants some members, it returns
// nil, or the others if some of them are columns of the path, or an error if none of the first records and no path has
// a wanted member that is not declared.
func (r reader) memberColumns(ctx context.Context, l listing, declared, wanted []string) ([]string, error) {
	limit := previewBytes
	if wanted != nil {
		limit = membersBytes
	}
	var object string
	var text []byte
	var found []string
	known, isDeclared := map[string]bool{}, names.Positions(declared)
	for _, o := range l {
		if o.Size == 0 {
			continue
		}
		var err error
		if text, err = r.firstLines(ctx, o, limit); err != nil {
			return nil, err
		}
		object = o.Name
		for line := range bytes.SplitSeq(text, []byte{'\n'}) {
			found = appendMembers(found, known, line)
		}
		if text == nil || len(found) > 0 {
			break
		}
	}
	if wanted == nil {
		if text == nil && object != "" {
			return nil, jobs.Permanent(&Fault{Object: object, Text: fmt.Sprintf("the first record is longer than %d bytes: give the members to read, for example with the parameter columns", limit)})
		}
		for _, name := range declared {
			if !known[name] {
				known[name] = true
				found = append(found, name)
			}
		}
		return found, nil
	}
	missing, some := absent(text, wanted)
	var path []string
	for _, name := range missing {
		inPath, err := l.pathColumn(name)
		if err != nil {
			return nil, jobs.Permanent(err)
		}
		_, declared := isDeclared[name]
		switch {
		case declared:
		case inPath:
			path = append(path, name)
		case some:
			return nil, jobs.Permanent(fmt.Errorf("%s: %w (if later records have it, add it to the parameter names)", object, names.Missing(name, found)))
		}
	}
	if path == nil {
		return nil, nil
	}
	return slices.DeleteFunc(append([]string{}, wanted...), func(name string) bool { return slices.Contains(path, name) }), nil
}

// firstLines returns the complete lines at the beginning of an object, up to a limit in bytes, or nil if the
// first line is longer.
func (r reader) firstLines(ctx context.Context, o source.Object, limit int) ([]byte, error) {
	c, err := r.content(ctx, o, 0, o.Size)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	text := make([]byte, limit)
	n, err := c.fill(text)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	end := n
	if err == nil {
		end = bytes.LastIndexByte(text, '\n')
	}
	if end < 0 {
		return nil, nil
	}
	return bytes.TrimPrefix(text[:end], byteOrderMark), nil
}

// appendMembers appends the names of a record's members that are not known. It ignores a record that
// is not JSON, which the computation reports.
func appendMembers(list []string, known map[string]bool, record []byte) []string {
	d := json.NewDecoder(bytes.NewReader(record))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return list
	}
	for d.More() {
		name, err := d.Token()
		text, ok := name.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			break
		}
		if !known[text] {
			known[text] = true
			list = append(list, text)
		}
	}
	return list
}

// absent returns the wanted members that no record has, and whether a record can be read.
func absent(text []byte, wanted []string) (names []string, some bool) {
	rec := &Record{layout: &layout{format: ndjson, wanted: wanted, members: member.New(wanted)}, fields: make([]bound, max(1, len(wanted))), seen: make([]bool, len(wanted)), raw: make([]bool, len(wanted))}
	have := make([]bool, len(wanted))
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		if ok, err := rec.parse(line); !ok || err != nil {
			continue
		}
		some = true
		for i, seen := range rec.seen {
			have[i] = have[i] || seen
		}
	}
	for i, name := range wanted {
		if !have[i] {
			names = append(names, name)
		}
	}
	return names, some
}
