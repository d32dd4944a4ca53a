package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Reading is the result of reading a range of bytes under one of two assumptions: that the range
// begins outside quotes, or that it begins inside quotes. The fields are exported only for the
// codec.
type Reading[A any] struct {
	_ struct{} `cbor:",toarray"`

	Fault  *Fault // reason why the assumption is wrong or the content is bad; if not nil, the other fields are empty
	Quoted bool   // true if the range ends inside quotes

	// Head is the text at the beginning of the range that belongs to a record that began before the
	// range. Tail is the text after the last end of a record. If the range contains neither an end
	// of a record nor a beginning of an object, Cut is false and Head is the whole range.
	Cut        bool
	Head, Tail rope

	// Accs are the accumulators of the records between Head and Tail. Between two successive
	// accumulators is a record that has not been folded, because a part of the record must be read
	// again. Waiting contains the records that Finish must read and fold.
	Accs    []A
	Waiting []rope

	Records, Skipped uint64
	Samples          []Fault // faults of the first records that were skipped
}

// maxSamples is the number of skipped records that a result describes.
const maxSamples = 10

// maxKept is the maximum size in bytes of a Head or Tail whose text is kept in a reading that may
// be the wrong one. The text of a larger Head or Tail is dropped, and Finish reads the text again
// if the reading is right.
const maxKept = 256 << 10

// scanner folds the records of a range and makes one reading of it.
type scanner[A any] struct {
	*folder[A]
	certain bool // true if the reading is certainly the right one
	object  source.Object
	at      int64 // offset of the next byte
	quoted  bool  // true if the next byte is inside quotes

	acc  A
	out  Reading[A]
	kept bool   // true if the whole text of the head is in memory
	tail []byte // beginning of the current record's text
	from int64  // offset of the current record

	header int // index of the object's variant

	stopped *atomic.Bool // true if the reading must end; nil if it never must
}

// newScanner returns a scanner for a range that begins at an offset of an object.
func newScanner[A any](f *folder[A], o source.Object, offset int64, quoted, certain bool) *scanner[A] {
	s := &scanner[A]{folder: f, certain: certain, quoted: quoted, kept: true, acc: f.start()}
	s.begin(o, offset)
	s.out.Head = rope{Object: o, Offset: offset, Header: s.header}
	return s
}

// begin tells the scanner that the next bytes begin at the given offset of an object.
func (s *scanner[A]) begin(o source.Object, offset int64) {
	s.object, s.at, s.from = o, offset, offset
	if s.headerOf != nil {
		s.header = s.headerOf(o.Name)
		s.use(s.header)
	}
	if offset == 0 {
		s.out.Cut = true
	}
	s.leads = s.layout.comment != 0 && s.layout.isHeader(offset)
}

// place tells the scanner the offset of the next bytes, if they are the content of a member of bgzip.
func (s *scanner[A]) place(offset int64) {
	s.at = offset
	if len(s.tail) == 0 {
		s.from = offset
	}
	if s.out.Head.empty() && !s.out.Cut {
		s.out.Head.Offset = offset
	}
}

// feed folds the records of the next bytes. If quotes is false, the text contains no quotes.
func (s *scanner[A]) feed(text []byte, quotes bool) {
	if s.out.Fault != nil {
		return
	}
	begin := s.at
	s.at += int64(len(text))
	if !s.out.Cut || len(s.tail) > 0 {
		end := s.recordEnd(text, quotes)
		if !s.out.Cut {
			s.extendHead(text[:max(0, end)], text, end < 0)
		} else if end < 0 {
			if s.tail = append(s.tail, text...); len(s.tail) > maxRecord {
				s.out.refuse(Fault{Object: s.object.Name, Offset: s.from, Text: errLong.Error()}, false)
			}
		} else {
			s.tail = append(s.tail, text[:end]...)
			s.record(s.tail, s.from, true)
			s.tail = s.tail[:0]
		}
		if end < 0 {
			return
		}
		text, begin = text[end:], begin+int64(end)
	}
	used := s.records(text, begin, quotes)
	s.from = begin + int64(used)
	s.tail = append(s.tail[:0], text[used:]...)
}

// extendHead adds text to the head. If open is true, the head does not end in this text, and all of
// the text is added.
func (s *scanner[A]) extendHead(head, all []byte, open bool) {
	if open {
		head = all
	} else {
		s.out.Cut = true
	}
	h := &s.out.Head
	length := h.length() + int64(len(head))
	if length > maxRecord {
		s.out.refuse(Fault{Object: h.Object.Name, Offset: h.Offset, Text: errLong.Error()}, false)
		return
	}
	if s.kept && (s.certain || s.layout.quote == 0 || length <= maxKept) {
		h.append(head)
		return
	}
	s.kept = false
	h.Parts = []strand{{Length: length}}
}

// records folds the complete records at the beginning of text. A record must begin at the first
// byte of text. records returns the number of bytes of the folded records.
func (s *scanner[A]) records(text []byte, begin int64, quotes bool) (used int) {
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	clean, known := false, 0 // whether the text before the offset known is UTF-8
	for s.out.Fault == nil {
		rest := whole[used:]
		if s.bulk != nil {
			n := s.bulkRecords(s.clear(rest, quotes), begin+int64(used))
			used, rest = used+n, rest[n:]
			if quotes { // Bulk shall fold the records after those with quotes
				rest = rest[:bytes.LastIndexByte(rest[:min(len(rest), withoutBulk)], '\n')+1]
			}
		}
		if end := used + len(rest); end > known {
			clean, known = s.layout.isClean(rest), end
		}
		if clean && s.layout.delimited() && s.layout.columns != nil && s.out.Fault == nil {
			used += s.rows(rest, begin+int64(used), quotes)
		}
		if s.out.Fault != nil {
			break
		}
		end := used + s.recordEnd(text[used:], quotes)
		if end < used {
			break
		}
		s.record(text[used:end], begin+int64(used), !clean || end > known)
		used = end
	}
	return used
}

// withoutBulk is the number of bytes from a record with quotes on that are folded without Bulk.
const withoutBulk = 16 << 10

// clear returns the text before the first record with a quote.
func (s *scanner[A]) clear(text []byte, quotes bool) []byte {
	if !quotes {
		return text
	}
	if quote := bytes.IndexByte(text, s.layout.quote); quote >= 0 {
		return text[:bytes.LastIndexByte(text[:quote], '\n')+1]
	}
	return text
}

// one folds the record at the beginning of text, which contains no quotes, and returns its length.
func (s *scanner[A]) one(text []byte, begin int64, check bool) int {
	end := bytes.IndexByte(text, '\n') + 1
	s.record(text[:end], begin, check)
	return end
}

// bulkBytes is the number of bytes that the job's Bulk must fold on average before each record that
// Bulk does not fold. With fewer bytes, Bulk costs more time than it saves.
const bulkBytes = 1 << 10

// bulkRecords folds records with the job's Bulk function. It stops before the end of the text if
// the job's Bulk cannot fold most of the records.
func (s *scanner[A]) bulkRecords(text []byte, begin int64) (used int) {
	for others := 0; s.out.Fault == nil && others*bulkBytes <= used+8*bulkBytes && used < len(text); others++ {
		if begin+int64(used) > 0 {
			n, records := s.bulk(&s.acc, text[used:])
			used += n
			s.out.Records += records
		}
		if used < len(text) {
			used += s.one(text[used:], begin+int64(used), true)
		}
	}
	return used
}

// recordEnd returns the length of text up to the end of the first record, or -1 if the record does
// not end in text. It updates s.quoted for the bytes that it has read.
func (s *scanner[A]) recordEnd(text []byte, quotes bool) int {
	if !quotes {
		if s.quoted {
			return -1
		}
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			return -1
		}
		return end
	}
	quote := []byte{s.layout.quote}
	for at := 0; ; {
		end := bytes.IndexByte(text[at:], '\n') + 1
		line := text[at:]
		if end > 0 {
			line = text[at : at+end]
		}
		if bytes.Count(line, quote)%2 == 1 {
			s.quoted = !s.quoted
		}
		at += len(line)
		if end == 0 {
			return -1
		}
		if !s.quoted {
			return at
		}
	}
}

// record folds one record. If check is false, the caller knows that the text is UTF-8.
func (s *scanner[A]) record(text []byte, offset int64, check bool) {
	counted, err := s.folder.record(&s.acc, s.object.Name, text, offset, check)
	s.count(counted, err, s.object.Name, offset)
}

// count counts a record, or handles its error. It ends the reading if the computation was stopped.
func (s *scanner[A]) count(counted bool, err error, object string, offset int64) {
	s.out.count(counted, err, s.skip, object, offset)
	if s.stopped != nil && s.stopped.Load() {
		s.out.refuse(Fault{Object: object, Offset: offset, Text: errStopped.Error()}, false)
	}
}

// count counts a record, or handles its error.
func (r *Reading[A]) count(counted bool, err error, skip bool, object string, offset int64) {
	if counted {
		r.Records++
	} else if err != nil {
		r.refuse(Fault{Object: object, Offset: offset, Text: err.Error()}, skip && !ofObject(err))
	}
}

// refuse handles a bad record. If skip is true, refuse skips the record; otherwise refuse ends the
// reading with the fault.
func (r *Reading[A]) refuse(fault Fault, skip bool) {
	if !skip {
		r.Fault = &fault
		return
	}
	if r.Skipped++; len(r.Samples) < maxSamples {
		r.Samples = append(r.Samples, fault)
	}
}

// recoverTo ends a reading with a fault because Fold has panicked. It is called only for a reading
// that may be wrong.
func (r *Reading[A]) recoverTo(panicked any, object string, offset int64) {
	if panicked != nil {
		r.refuse(Fault{Object: object, Offset: offset, Text: fmt.Sprintf("panic: %v\n%s", panicked, debug.Stack())}, false)
	}
}

var errOdd = errors.New("a quoted field does not end before the object ends: the object has an odd number of quotes; double a quote that is part of a field, or give the parameter quote")

// endObject folds the last record of an object if the object does not end in a line end.
func (s *scanner[A]) endObject() {
	switch {
	case s.out.Fault != nil:
	case s.quoted:
		// The fault ends the reading even if bad records are skipped. At most one reading of a
		// range can therefore continue after the end of an object.
		err := errOdd
		if is, _ := s.layout.isComment(s.tail); is {
			err = errComment
		}
		s.out.Fault = &Fault{Object: s.object.Name, Offset: s.from, Text: err.Error()}
	case len(s.tail) > 0:
		s.record(s.tail, s.from, true)
	}
	s.tail, s.from = s.tail[:0], s.at
}

// endBlock ends the part of an object before a border. The header must be before the first border, because ranges after
// it cannot tell how many comment lines precede the header.
func (s *scanner[A]) endBlock() {
	if s.leads && s.out.Fault == nil {
		s.out.Fault = &Fault{Object: s.object.Name, Text: fmt.Sprintf("the comment lines and the header have more than %d bytes: give a larger parameter block", s.at)}
	}
}

// end returns the reading of the range. If ends is true, the range ends at the end of an object.
func (s *scanner[A]) end(ends bool) Reading[A] {
	out := s.out
	if out.Fault != nil {
		return Reading[A]{Fault: out.Fault}
	}
	out.Quoted = s.quoted
	out.Tail = rope{Object: s.object, Offset: s.from, Header: s.header}
	if !out.Cut && ends {
		out.Cut, out.Tail.Offset = true, s.at // the end of the object is also the end of the record in the head
	}
	if out.Cut {
		out.Accs = []A{s.acc}
	}
	switch length := int64(len(s.tail)); {
	case length > maxKept && !s.certain && s.layout.quote != 0:
		out.Tail.Parts = []strand{{Length: length}}
	default:
		out.Tail.append(s.tail)
	}
	return out
}
