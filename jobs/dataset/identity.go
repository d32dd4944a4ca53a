package dataset

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// identities finds what identifies the content of objects beyond a job: see source.Identifier.
type identities struct {
	from  source.Driver
	since time.Time // time before which the job has not read the content of any partition

	mu    sync.Mutex
	known map[string]identity // by name of the object
}

type identity struct {
	text    string
	certain bool
}

func newIdentities(from source.Driver) *identities {
	return &identities{from: from, since: time.Now(), known: map[string]identity{}}
}

func (l *identities) of(o source.Object) identity {
	l.mu.Lock()
	defer l.mu.Unlock()
	one, ok := l.known[o.Name]
	if !ok {
		one.certain = true
		if identifier, ok := l.from.(source.Identifier); ok {
			one.text, one.certain = identifier.Identify(o, l.since)
		}
		l.known[o.Name] = one
	}
	return one
}

// key returns the key of the input of a partition, which begins with prefix. If the content of an object
// may change without a trace, key returns nil. The names of the objects are in the key, because partials
// contain them: Finish may read records at borders again, and messages name the objects of bad records.
func (l *identities) key(prefix []byte, p part) []byte {
	b := append([]byte{}, prefix...)
	for _, o := range p.objects {
		one := l.of(o)
		if !one.certain {
			return nil
		}
		b = appendString(appendString(appendString(b, o.Name), o.Tag), one.text)
		b = binary.AppendUvarint(b, uint64(o.Size))
	}
	b = binary.AppendUvarint(b, uint64(p.from))
	return binary.AppendUvarint(b, uint64(p.to))
}

// inputs returns the objects of a part, for jobs.Inputs.
func (p part) inputs() (list []jobs.InputObject) {
	for _, o := range p.objects {
		list = append(list, jobs.InputObject{Name: o.Name, Version: string(binary.AppendVarint([]byte(o.Tag), o.Size))})
	}
	return list
}
