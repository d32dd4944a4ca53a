package output

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Driver is the storage of an output.
type Driver interface {
	source.Driver
	source.Creator
	source.Remover
	source.Replacer
}

// Folder is the place of a job's output.
type Folder struct {
	Driver Driver
	Name   string // name of the folder, which ends in a slash
	ID     string // ID of the output, from NewID
	Format Format
	Room   int // expected size of an object of text in bytes, for which Write takes memory at once; 0 if it is unknown
}

// Part is an object of the output.
type Part struct {
	Name   string `json:"name"`
	Rows   uint64 `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`

	// Path and Item describe an object of the format Files.
	Path string `json:"path,omitempty"` // name that the program has given to the file, which may contain slashes
	Item string `json:"item,omitempty"` // part of the input from which the program has made the file
}

// Manifest lists the objects of an output.
type Manifest struct {
	ID      string   `json:"run"`
	Format  Format   `json:"format"`
	Columns []Column `json:"columns"`
	Rows    uint64   `json:"rows"`
	Bytes   int64    `json:"bytes"`
	Objects []Part   `json:"objects"`
}

// manifestName is the name of the manifest in its folder. The sources of package source ignore
// names that begin with a dot when they list a folder.
const manifestName = ".manifest.json"

// maxManifest is the maximum size of a manifest in bytes.
const maxManifest = 1 << 30

var errManifest = errors.New("damaged manifest")

// ErrExists: the folder contains the output of another job.
var ErrExists = errors.New("the folder has the output of an earlier job: give another folder, or remove its objects and " + manifestName)

// NewID returns a new ID of an output, which becomes a part of the names of the job's
// objects.
func NewID() string { return strings.ToLower(rand.Text()[:8]) }

// Of returns the name of the manifest that the result of a job contains. Of returns false if the
// job has no output.
func Of(result json.RawMessage) (manifest string, ok bool) {
	type described struct {
		Manifest string `json:"manifest"`
	}
	var r struct {
		Output described `json:"output"`
		Files  described `json:"files"` // of jobs that run programs, whose output is what the programs print
	}
	err := json.Unmarshal(result, &r)
	manifest = cmp.Or(r.Output.Manifest, r.Files.Manifest)
	return manifest, err == nil && manifest != ""
}

// CheckName returns an error if a name is not a valid name of an output folder.
func CheckName(name string) error {
	if err := source.CheckSecret(name); err != nil {
		return err
	}
	plain := name
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
		var err error
		if plain, err = url.PathUnescape(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if source.IsGlob(plain) || strings.Contains(plain, `\`) { // Check and Commit list the folder with a pattern
		return fmt.Errorf(`%s: want the name of a folder without * ? [ and \`, name)
	}
	return nil
}

// Check returns ErrExists if the folder has a manifest.
func Check(ctx context.Context, from source.Lister, folder string) error {
	exists, err := hasManifest(ctx, from, folder)
	if err == nil && exists {
		return fmt.Errorf("%s: %w", folder, ErrExists)
	}
	return err
}

func hasManifest(ctx context.Context, from source.Lister, folder string) (bool, error) {
	_, err := stat(ctx, from, folder+manifestName)
	if errors.Is(err, source.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func stat(ctx context.Context, from source.Lister, name string) (source.Object, error) {
	for o, err := range from.List(ctx, name) {
		return o, err
	}
	return source.Object{}, fmt.Errorf("%s: %w", name, source.ErrNotFound)
}

const (
	writeTries = 6
	firstPause = 200 * time.Millisecond
)

// Write writes rows as one object. The label becomes a part of the object's name. If labels sort in
// the order of the rows, so do the names.
func (f Folder) Write(ctx context.Context, label string, columns []Column, rows iter.Seq[[][]byte]) (Part, error) {
	e, err := f.Format.encoder(columns, f.Room)
	if err != nil {
		return Part{}, err
	}
	part := Part{}
	for fields := range rows {
		if err := e.Add(fields); err != nil {
			return part, err
		}
		part.Rows++
	}
	content, err := e.Finish()
	if err != nil {
		return part, err
	}
	err = f.write(ctx, &part, label, "."+string(f.Format), content)
	return part, err
}

// write writes an object, and completes its part. It computes the sum while storage writes.
func (f Folder) write(ctx context.Context, p *Part, label, ending string, content []byte) error {
	sums := make(chan [sha256.Size]byte, 1)
	go func() { sums <- sha256.Sum256(content) }()
	o, err := f.create(ctx, label, ending, content)
	sum := <-sums
	p.Bytes, p.SHA256 = int64(len(content)), hex.EncodeToString(sum[:])
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	p.Name = o.Name
	return nil
}

// RemoveLate removes the parts of an attempt if the job has already committed its output, because no
// later Commit would remove the parts. The attempt may still count: if the leader dies before the
// job's end is durable, partitions are computed again after the commit, and the next Commit returns
// the first manifest. If the manifest has no files of the same partition, the partition was skipped, and this attempt may be
// one of a job that completes the output, so its parts stay. If another job has committed its output, RemoveLate returns
// an error. An attempt must call RemoveLate after Write.
func (f Folder) RemoveLate(ctx context.Context, parts ...Part) error {
	_, m, err := read(ctx, f.Driver, f.Name)
	switch {
	case errors.Is(err, source.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	err = nil
	if m.ID != f.ID {
		err = fmt.Errorf("%s: %w", f.Name, ErrExists)
	}
	final := f.final(m)
	for _, p := range parts {
		if m.ID != f.ID || final(p.Name) {
			err = errors.Join(err, f.Driver.Remove(ctx, p.Name))
		}
	}
	return err
}

// create creates an object. Each try uses another name, because a try may have created its object
// even if it has failed.
func (f Folder) create(ctx context.Context, label, ending string, content []byte) (o source.Object, err error) {
	for try := range writeTries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return o, context.Cause(ctx)
			case <-time.After(firstPause << (try - 1)):
			}
		}
		name := fmt.Sprintf("%s%s%s-%s%s", f.Name, f.prefix(), label, strings.ToLower(rand.Text()[:12]), ending)
		o, err = f.Driver.Create(ctx, name, content)
		if err == nil || !errors.Is(err, source.ErrUnavailable) && !errors.Is(err, source.ErrExists) {
			return o, err
		}
	}
	return o, err
}

// Label returns the label in the name of an object that Write has written.
func (f Folder) Label(p Part) string { return f.label(p.Name) }

func (f Folder) label(name string) string {
	label := strings.TrimPrefix(name[strings.LastIndex(name, "/")+1:], f.prefix())
	return label[:max(0, strings.LastIndexByte(label, '-'))]
}

func (f Folder) prefix() string { return "part-" + f.ID + "-" }

// Commit creates the manifest, which lists the parts, and removes the job's objects that can be in no manifest of the
// job. If the job already has a manifest, Commit returns the existing manifest. If files of further partitions
// are among the parts, because the existing manifest is that of a job that skipped them, Commit adds these to it. If a part
// is missing in storage, Commit fails and removes no object.
func (f Folder) Commit(ctx context.Context, columns []Column, parts []Part) (name string, m Manifest, err error) {
	m = f.manifest(columns, parts)
	content, err := m.encode()
	if err != nil {
		return "", m, err
	}
	o, err := f.Driver.Create(ctx, f.Name+manifestName, content)
	created := err == nil
	for tries := 0; tries < writeTries && (errors.Is(err, source.ErrExists) || errors.Is(err, source.ErrChanged)); tries++ {
		if o, m, err = f.extend(ctx, m); errors.Is(err, ErrExists) {
			break
		}
	}
	if err != nil {
		return "", m, fmt.Errorf("commit output: %w", err)
	}
	lost, err := f.compare(ctx, m)
	if err != nil { // the job was cancelled, and a worker has called Abandon
		if created && errors.Is(err, source.ErrNotFound) {
			err = errors.Join(err, f.Driver.Remove(ctx, o.Name))
		}
		return "", m, fmt.Errorf("commit output: %w", err)
	}
	for _, name := range lost {
		if err := f.Driver.Remove(ctx, name); err != nil {
			return "", m, fmt.Errorf("remove what lost attempts wrote: %w", err)
		}
	}
	return o.Name, m, nil
}

func (f Folder) manifest(columns []Column, parts []Part) Manifest {
	m := Manifest{ID: f.ID, Format: f.Format, Columns: columns, Objects: parts}
	for _, p := range parts {
		m.Rows += p.Rows
		m.Bytes += p.Bytes
	}
	return m
}

// compare returns the job's objects that neither a manifest lists nor a later manifest can list. If a listed object is
// missing, it fails with [source.ErrNotFound].
func (f Folder) compare(ctx context.Context, m Manifest) (lost []string, err error) {
	missing, final := map[string]bool{}, f.final(m)
	for _, p := range m.Objects {
		missing[p.Name] = true
	}
	for o, err := range f.list(ctx) {
		if err != nil {
			return nil, err
		}
		if !missing[o.Name] && final(o.Name) {
			lost = append(lost, o.Name)
		}
		delete(missing, o.Name)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%d of %d objects: %w", len(missing), len(m.Objects), source.ErrNotFound)
	}
	return lost, nil
}

// list yields the objects of the job, and the temporary files of the job's processes that were killed. Names of
// temporary files begin with a dot: see package local.
func (f Folder) list(ctx context.Context) iter.Seq2[source.Object, error] {
	return func(yield func(source.Object, error) bool) {
		for _, begin := range []string{"", "."} {
			for o, err := range f.Driver.List(ctx, f.Name+begin+f.prefix()+"*") {
				if !yield(o, err) || err != nil {
					return
				}
			}
		}
	}
}

// Abandon removes all objects of a job that has ended, unless the job has committed its output. If
// the job was cancelled, its Commit may still run. Commit first creates the manifest and then looks
// for the objects, and Abandon first removes the objects and then looks for the manifest. Therefore
// at least one of the two calls finds the result of the other call, and removes the manifest.
func (f Folder) Abandon(ctx context.Context) error {
	committed, err := f.committed(ctx)
	if err != nil || committed {
		return err
	}
	removed := false
	for o, err := range f.list(ctx) {
		if err == nil {
			err = f.Driver.Remove(ctx, o.Name)
		}
		if err != nil {
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	if committed, err = f.committed(ctx); err != nil || !committed {
		return err
	}
	return f.Driver.Remove(ctx, f.Name+manifestName)
}

// committed reports whether the folder contains the manifest of this job.
func (f Folder) committed(ctx context.Context) (bool, error) {
	_, m, err := read(ctx, f.Driver, f.Name)
	if errors.Is(err, source.ErrNotFound) {
		return false, nil
	}
	return m.ID == f.ID, err
}

// Read returns the manifest of a folder. Read fails with [source.ErrNotFound] if the folder has no manifest. The
// name of the folder may also be the name of the manifest.
func Read(ctx context.Context, from source.Driver, folder string) (Manifest, error) {
	folder = strings.TrimSuffix(folder, manifestName)
	if !strings.HasSuffix(folder, "/") {
		folder += "/"
	}
	_, m, err := read(ctx, from, folder)
	return m, err
}

func read(ctx context.Context, from source.Driver, folder string) (o source.Object, m Manifest, err error) {
	for range writeTries {
		if o, m, err = readOnce(ctx, from, folder); !errors.Is(err, source.ErrChanged) {
			break // otherwise a job has replaced the manifest during the read
		}
	}
	return o, m, err
}

func readOnce(ctx context.Context, from source.Driver, folder string) (o source.Object, m Manifest, err error) {
	if o, err = stat(ctx, from, folder+manifestName); err != nil {
		return o, m, err
	}
	if o.Size > maxManifest {
		return o, m, fmt.Errorf("%s has %d bytes: want at most %d", o.Name, o.Size, maxManifest)
	}
	content, err := load(ctx, from, o)
	if err == nil {
		m, err = decode(content)
	}
	if err != nil {
		return o, m, fmt.Errorf("read %s: %w", o.Name, err)
	}
	return o, m, nil
}

func (m Manifest) encode() ([]byte, error) {
	content, err := json.MarshalIndent(m, "", " ")
	return append(content, '\n'), err
}

// decode decodes a manifest. A manifest that lists an object twice, or objects of another output or in
// several folders, is damaged, because its readers would read other rows than the job has written.
func decode(content []byte) (m Manifest, err error) {
	if err := json.Unmarshal(content, &m); err != nil {
		return m, fmt.Errorf("%w: %w", errManifest, err)
	}
	rows, bytes, folder := uint64(0), int64(0), ""
	names := map[string]bool{}
	for i, p := range m.Objects {
		at := strings.LastIndex(p.Name, "/") + 1
		if i == 0 {
			folder = p.Name[:at]
		}
		if m.Format == Files && CheckPath(p.Path) != nil {
			return m, fmt.Errorf("%w: path %q", errManifest, p.Path)
		}
		if names[p.Name] || p.Name[:at] != folder || !strings.HasPrefix(p.Name[at:], Folder{ID: m.ID}.prefix()) || p.Bytes < 0 {
			return m, fmt.Errorf("%w: object %q", errManifest, p.Name)
		}
		names[p.Name] = true
		rows += p.Rows
		bytes += p.Bytes
	}
	if rows != m.Rows || bytes != m.Bytes {
		return m, fmt.Errorf("%w: its objects have %d rows and %d bytes, the manifest says %d and %d", errManifest, rows, bytes, m.Rows, m.Bytes)
	}
	return m, nil
}

func load(ctx context.Context, from source.Reader, o source.Object) (content []byte, err error) {
	for range writeTries {
		var body io.ReadCloser
		if body, err = from.Read(ctx, o, 0, o.Size); err == nil {
			content, err = io.ReadAll(body)
			err = errors.Join(err, body.Close())
		}
		if err == nil || errors.Is(err, source.ErrNotFound) || errors.Is(err, source.ErrChanged) || errors.Is(err, source.ErrDenied) || ctx.Err() != nil {
			break
		}
	}
	return content, err
}

// ErrDamaged: an object of an output has changed since the job wrote it.
var ErrDamaged = errors.New("object of an output is damaged")

// Content returns the content of an object of a manifest, and checks its SHA-256.
func Content(ctx context.Context, from source.Driver, p Part) ([]byte, error) {
	o, err := stat(ctx, from, p.Name)
	if err != nil {
		return nil, err
	}
	content, err := load(ctx, from, o)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, fmt.Errorf("%s: %w: its SHA-256 is %x, the manifest says %s", p.Name, ErrDamaged, sum, p.SHA256)
	}
	return content, nil
}

// List yields the objects of a manifest with their current tags in storage. List fails if an object
// is missing or has another size.
func (m Manifest) List(ctx context.Context, from source.Lister) iter.Seq2[source.Object, error] {
	return func(yield func(source.Object, error) bool) {
		if len(m.Objects) == 0 {
			return
		}
		sizes := map[string]int64{}
		for _, p := range m.Objects {
			sizes[p.Name] = p.Bytes
		}
		first := m.Objects[0].Name // all objects of a job are in one folder
		for o, err := range from.List(ctx, first[:strings.LastIndex(first, "/")+1]+"part-"+m.ID+"-*") {
			size, listed := sizes[o.Name]
			if err == nil && !listed {
				continue
			}
			if err == nil && o.Size != size {
				err = fmt.Errorf("%s: %w: it has %d bytes, the manifest says %d", o.Name, ErrDamaged, o.Size, size)
			}
			delete(sizes, o.Name)
			if !yield(o, err) || err != nil {
				return
			}
		}
		for _, p := range m.Objects {
			if _, missing := sizes[p.Name]; missing {
				yield(source.Object{}, fmt.Errorf("%s: %w", p.Name, source.ErrNotFound))
				return
			}
		}
	}
}
