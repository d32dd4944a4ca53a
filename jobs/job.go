package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Job is a checked [Definition]. The type has no type parameters. The methods of a job may be
// called from several goroutines. If the definition's code panics, the methods return a
// *[PanicError].
type Job struct {
	name, version, summary string
	parameters             []Parameter
	limits                 Limits
	restricted             bool
	audits                 func(Params) error
	previews               bool

	normalize func(base []byte, pairs []string) (Params, error)
	encode    func(params any) (Params, error)
	plan      func(ctx context.Context, p Params) (Plan, error)
	preview   func(ctx context.Context, p Params, plan Plan) (Preview, error)
	open      func(ctx context.Context, p Params, plan Plan) (*Task, error)
	merge     func(ctx context.Context, p Params, own owned, left, right []byte) ([]byte, error)
	merges    func(p Params) bool                  // reports whether partials are merged by a function of the definition's Merger
	recode    func(partial []byte) ([]byte, error) // decodes and encodes a partial
	finish    func(ctx context.Context, p Params, own bool, root []byte) (json.RawMessage, Attachment, error)

	attaches     bool
	inPlace      bool
	decodedSize  func(partial []byte) uint64
	onAttachment func(Attachment) // function that receives the attachments of results; nil if they are dropped
	own          owned
}

// owned says which operands of a merge are not used by other code afterwards. An operand that is not owned must
// not change.
type owned struct{ left, right bool }

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// CheckKind checks the syntax of a definition's name and version.
func CheckKind(name, version string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("Name %.50q: want 1 to 40 lower-case letters, digits and dashes, the first a letter", name)
	}
	if version == "" || len(version) > 40 {
		return fmt.Errorf("Version %.50q: want 1 to 40 characters", version)
	}
	return nil
}

// New checks a definition and returns its job.
func New[P, T, R any](d Definition[P, T, R]) (Job, error) {
	if err := CheckKind(d.Name, d.Version); err != nil {
		return Job{}, fmt.Errorf("define job: %w", err)
	}
	b, err := bind(d)
	if err != nil {
		return Job{}, fmt.Errorf("define job %s: %w", d.Name, err)
	}
	return Job{
		name: d.Name, version: d.Version, summary: d.Summary,
		parameters: b.params.list,
		limits:     d.Limits.withDefaults(),
		restricted: d.Restricted,
		audits:     b.checkAudit,
		previews:   d.Preview != nil,
		normalize:  b.normalize,
		encode:     b.encode,
		plan:       b.plan,
		preview:    b.preview,
		open:       b.open,
		merge:      b.merge,
		merges:     b.hasMerger,
		recode:     b.recode,
		finish:     b.finish,
		attaches:   b.attachment.exists,
		inPlace:    b.aliases(),

		decodedSize: b.decodedSize,
	}, nil
}

// MustNew is like [New] but panics if the definition is not valid.
func MustNew[P, T, R any](d Definition[P, T, R]) Job {
	job, err := New(d)
	if err != nil {
		panic(err)
	}
	return job
}

// Name returns the definition's name.
func (j Job) Name() string { return j.name }

// Version returns the definition's version.
func (j Job) Version() string { return j.version }

// Summary returns the definition's summary, one line.
func (j Job) Summary() string { return j.summary }

// Limits returns how long the functions may take. A limit of 0 means no limit.
func (j Job) Limits() Limits { return j.limits }

// CheckAudit returns an error if a job with these parameters cannot be audited, as described at the
// field NoAudit of [Definition].
func (j Job) CheckAudit(p Params) error { return j.audits(p) }

// Restricted reports whether the job is restricted, as described at the field Restricted of
// [Definition].
func (j Job) Restricted() bool { return j.restricted }

// Parameters returns descriptions of the job's parameters, in the order of the fields of
// the parameter struct.
func (j Job) Parameters() []Parameter { return slices.Clone(j.parameters) }

// Params checks parameters and returns them in the stored form. Params begins with the defaults,
// overrides them with the members of the JSON object base, and then with the name=value pairs. The
// base may be nil. If several pairs have the same name, the last one is used. An error names the
// parameter, its value and the allowed values.
func (j Job) Params(base []byte, pairs ...string) (Params, error) {
	params, err := j.normalize(base, pairs)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.name, err)
	}
	return params, nil
}

// EncodeParams checks params, a value of the definition's parameter struct P, and returns
// the parameters in the stored form. Fields that are zero do not get defaults, so params
// should be a changed copy of the definition's Defaults.
func (j Job) EncodeParams(params any) (Params, error) {
	encoded, err := j.encode(params)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.name, err)
	}
	return encoded, nil
}

// Plan cuts the computation into 1 to [MaxPartitions] partitions.
func (j Job) Plan(ctx context.Context, p Params) (Plan, error) {
	plan, err := j.plan(ctx, p)
	if err != nil {
		return Plan{}, fmt.Errorf("plan job %s: %w", j.name, err)
	}
	return plan, nil
}

// Open prepares this process to run partitions of the job. The caller must close the
// task.
func (j Job) Open(ctx context.Context, p Params, plan Plan) (*Task, error) {
	task, err := j.open(ctx, p, plan)
	if err != nil {
		return nil, fmt.Errorf("open job %s: %w", j.name, err)
	}
	return task, nil
}

// OwnOperands returns a copy of the job whose Merge and Finish may change their operands and return
// their memory. With an [InPlaceCodec], OwnOperands saves a copy of each operand. The parameter
// left applies to the left operand of Merge and to the operand of Finish, and right to the right
// operand of Merge. The caller must be the only owner of an operand that is given away, and must
// not use that operand again. After an error the operand may have been changed.
func (j Job) OwnOperands(left, right bool) Job {
	j.own = owned{left, right}
	return j
}

// HasMerger reports whether the partials of a job with these parameters are merged by a function
// that the definition's Merger returned. Only workers may call Merge of a job with a merger.
func (j Job) HasMerger(p Params) bool { return j.merges(p) }

// Merge returns the encoded merge of two encoded partials of sibling nodes. An error is
// permanent unless a partial could not be decoded, or the job has a merger.
func (j Job) Merge(ctx context.Context, p Params, left, right []byte) ([]byte, error) {
	merged, err := j.merge(ctx, p, j.own, left, right)
	if err != nil {
		return nil, fmt.Errorf("merge partials of job %s: %w", j.name, err)
	}
	return merged, nil
}

// InPlace reports whether the codec encodes and decodes partials without copying them.
func (j Job) InPlace() bool { return j.inPlace }

// DecodedSize returns about how many bytes of memory a partial takes when it is decoded: the size
// before the compression by a codec of [Zstd], otherwise the size of its encoding.
func (j Job) DecodedSize(partial []byte) uint64 {
	return max(uint64(len(partial)), j.decodedSize(partial))
}

// Attaches reports whether the job's results may have an [Attachment].
func (j Job) Attaches() bool { return j.attaches }

// OnAttachment returns a copy of the job whose Finish passes the attachment of a result to the
// function take.
func (j Job) OnAttachment(take func(Attachment)) Job {
	j.onAttachment = take
	return j
}

// Finish computes the result from the root's encoded partial and returns the result as JSON.
func (j Job) Finish(ctx context.Context, p Params, root []byte) (json.RawMessage, error) {
	result, attachment, err := j.finish(ctx, p, j.own.left, root)
	if err != nil {
		return nil, fmt.Errorf("finish job %s: %w", j.name, err)
	}
	if attachment.name != "" && j.onAttachment != nil {
		j.onAttachment(attachment)
	}
	return result, nil
}

// binding calls a definition's functions on encoded values.
type binding[P, T, R any] struct {
	def    Definition[P, T, R]
	params paramsCodec[P]

	attachment struct { // field of the result that is an Attachment
		exists bool
		field  []int
	}
}

func bind[P, T, R any](d Definition[P, T, R]) (binding[P, T, R], error) {
	b := binding[P, T, R]{def: d}
	if d.Plan == nil || d.Open == nil || d.Merge == nil || d.Finish == nil {
		return b, errors.New("want all of Plan, Open, Merge and Finish")
	}
	if d.Codec == nil {
		codec, err := newCBORCodec[T]()
		if err != nil {
			return b, fmt.Errorf("the default codec cannot encode partials: %w", err)
		}
		b.def.Codec = codec
	} else if c, ok := d.Codec.(interface{ check() error }); ok {
		if err := c.check(); err != nil {
			return b, fmt.Errorf("the codec cannot encode partials: %w", err)
		}
	}
	if err := resultIsJSON(reflect.TypeFor[R]()); err != nil {
		return b, fmt.Errorf("the result: %w", err)
	}
	var err error
	if b.attachment.field, b.attachment.exists, err = attachmentField(reflect.TypeFor[R]()); err != nil {
		return b, fmt.Errorf("the result: %w", err)
	}
	list, err := describe(d.Defaults)
	if err != nil {
		return b, err
	}
	b.params = paramsCodec[P]{defaults: d.Defaults, list: list}
	if _, err := b.params.parse(nil, nil); err != nil && !errors.Is(err, errMissing) {
		return b, fmt.Errorf("Defaults: %w", err)
	}
	return b, nil
}

func (b binding[P, T, R]) normalize(base []byte, pairs []string) (params Params, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(base, pairs)
	if err != nil {
		return nil, err
	}
	return b.params.encode(p)
}

func (b binding[P, T, R]) encode(params any) (encoded Params, err error) {
	defer recoverTo(&err)
	p, ok := params.(P)
	if !ok {
		return nil, fmt.Errorf("parameters of type %T: want %T", params, p)
	}
	if encoded, err = b.params.encode(p); err != nil {
		return nil, err
	}
	_, err = b.params.parse(encoded, nil)
	return encoded, err
}

func (b binding[P, T, R]) plan(ctx context.Context, params Params) (plan Plan, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return Plan{}, err
	}
	if plan, err = b.def.Plan(ctx, p); err != nil {
		return Plan{}, err
	}
	_, err = NewTree(plan.Partitions)
	return plan, err
}

func (b binding[P, T, R]) open(ctx context.Context, params Params, plan Plan) (task *Task, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, err
	}
	tree, err := NewTree(plan.Partitions)
	if err != nil {
		return nil, err
	}
	mapper, err := b.def.Open(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	if mapper == nil {
		return nil, errors.New("Open returned neither a mapper nor an error")
	}
	if err := oneWay[T](mapper); err != nil {
		return nil, err
	}
	pool, m := new(spares[T]), b.merger(p)
	if _, ok := mapper.(Filler[T]); ok {
		if m.outside != nil {
			return nil, fmt.Errorf("the mapper %T has the method Fill, and the definition a Merger: want one of them", mapper)
		}
		if err := fillable(reflect.TypeFor[T]()); err != nil {
			return nil, err
		}
		pool.share = sharing[T]()
	}
	partialBytes := int64(0)
	if sizer, ok := mapper.(Sizer); ok {
		partialBytes = sizer.PartialBytes()
	}
	return &Task{
		partialBytes: partialBytes,

		mapper: mapper,
		stack: func(a Audit) Stack {
			s := &stack[T]{tree: tree, mapper: mapper, merge: m, codec: b.def.Codec, pool: pool}
			if a.Share > 0 {
				s.audit = &auditor[T]{Audit: a, recompute: recomputer[T]{codec: b.def.Codec, mapper: mapper}}
			}
			return s
		},
		sums: func(ctx context.Context, partitions []uint64, progress *Progress) ([]SHA256, error) {
			r := recomputer[T]{codec: b.def.Codec, mapper: mapper}
			return r.sums(ctx, partitions, progress)
		},
		forest: func() forest {
			return &valueForest[T]{tree: tree, merge: m, codec: b.def.Codec, pool: pool, waiting: make(map[Node]T)}
		},
		spares: func(get func(size int) []byte, put func([]byte)) bool {
			if pool.share == nil || !b.aliases() {
				return false
			}
			pool.more = func() (value T, ok bool) {
				if data := get(int(pool.size.Load())); data != nil {
					value, err := decodeInPlace(b.def.Codec, data)
					return value, err == nil
				}
				return value, false
			}
			pool.give = func(value T) {
				if data, err := encodeInPlace(b.def.Codec, value); err == nil {
					put(data)
				}
			}
			return true
		},
	}, nil
}

// aliases reports whether the codec encodes and decodes a partial without copying it.
func (b binding[P, T, R]) aliases() bool {
	_, ok := b.def.Codec.(interface{ aliases() })
	return ok
}

// decodedSize returns the size of a decoded partial, or 0 if the codec does not know it.
func (b binding[P, T, R]) decodedSize(partial []byte) uint64 {
	if c, ok := b.def.Codec.(interface{ decodedSize([]byte) uint64 }); ok {
		return c.decodedSize(partial)
	}
	return 0
}

func (b binding[P, T, R]) decode(own bool, data []byte) (value T, err error) {
	if own {
		value, err = decodeInPlace(b.def.Codec, data)
	} else {
		value, err = b.def.Codec.Decode(data)
	}
	if err != nil {
		err = fmt.Errorf("Codec.Decode: %w", err)
	}
	return value, err
}

// oneWay returns an error if a mapper has several methods that would be called instead of Map.
func oneWay[T any](mapper Mapper[T]) error {
	var names []string
	if _, ok := mapper.(Filler[T]); ok {
		names = append(names, "Fill")
	}
	if _, ok := mapper.(Forker[T]); ok {
		names = append(names, "Fork")
	}
	if _, ok := mapper.(Streamer[T]); ok {
		names = append(names, "Stream")
	}
	if len(names) > 1 {
		return fmt.Errorf("the mapper %T has the methods %s: want one of them", mapper, strings.Join(names, " and "))
	}
	return nil
}

// merger merges the partials of a job. It has one of the two functions.
type merger[T any] struct {
	merge   func(left, right T) (T, error)                      // the definition's Merge
	outside func(ctx context.Context, left, right T) (T, error) // the function that the definition's Merger returned
}

func (m merger[T]) call(ctx context.Context, left, right T) (T, error) {
	if m.outside != nil {
		return m.outside(ctx, left, right)
	}
	return m.merge(left, right)
}

func (b binding[P, T, R]) merger(p P) merger[T] {
	if b.def.Merger != nil {
		if outside := b.def.Merger(p); outside != nil {
			return merger[T]{outside: outside}
		}
	}
	return merger[T]{merge: b.def.Merge}
}

// mergerOf returns the function that merges partials of a job with the given stored parameters.
func (b binding[P, T, R]) mergerOf(params Params) (m merger[T], err error) {
	var p P
	if b.def.Merger != nil {
		if p, err = b.params.parse(params, nil); err != nil {
			return m, err
		}
	}
	return b.merger(p), nil
}

func (b binding[P, T, R]) checkAudit(params Params) error {
	if b.def.NoAudit == nil {
		return nil
	}
	p, err := b.params.parse(params, nil)
	if err != nil {
		return err
	}
	if reason := b.def.NoAudit(p); reason != "" {
		return fmt.Errorf("job %s cannot be audited or checked: %s", b.def.Name, reason)
	}
	return nil
}

// hasMerger reports whether a Merger of the definition merges the partials. For parameters that
// cannot be parsed hasMerger returns false, because Merge reports that error.
func (b binding[P, T, R]) hasMerger(params Params) (has bool) {
	defer func() { _ = recover() }()
	m, err := b.mergerOf(params)
	return err == nil && m.outside != nil
}

func (b binding[P, T, R]) merge(ctx context.Context, params Params, own owned, left, right []byte) (merged []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Permanent(newPanicError(v))
		}
	}()
	by, err := b.mergerOf(params)
	if err != nil {
		return nil, Permanent(err)
	}
	l, err := b.decode(own.left, left)
	if err != nil {
		return nil, err
	}
	r, err := b.decode(own.right, right)
	if err != nil {
		return nil, err
	}
	m, err := by.call(ctx, l, r)
	switch {
	case err != nil && by.outside != nil:
		return nil, err
	case err != nil:
		return nil, Permanent(err)
	}
	if merged, err = encodeInPlace(b.def.Codec, m); err != nil {
		return nil, Permanent(fmt.Errorf("Codec.Encode: %w", err))
	}
	return merged, nil
}

func (b binding[P, T, R]) recode(partial []byte) (again []byte, err error) {
	defer recoverTo(&err)
	t, err := b.def.Codec.Decode(partial)
	if err != nil {
		return nil, err
	}
	return b.def.Codec.Encode(t)
}

func (b binding[P, T, R]) finish(ctx context.Context, params Params, own bool, root []byte) (result json.RawMessage, attachment Attachment, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, attachment, err
	}
	t, err := b.decode(own, root)
	if err != nil {
		return nil, attachment, err
	}
	r, err := b.def.Finish(ctx, p, t)
	if err != nil {
		return nil, attachment, err
	}
	if b.attachment.exists {
		attachment = reflect.ValueOf(&r).Elem().FieldByIndex(b.attachment.field).Interface().(Attachment)
		if err := attachment.complete(); err != nil {
			return nil, attachment, err
		}
	}
	if result, err = json.Marshal(r); err != nil {
		return nil, attachment, fmt.Errorf("encode result: %w", err)
	}
	if described, _ := FindAttachment(result); attachment.name != "" && described.sha256 != attachment.sha256 {
		return nil, attachment, fmt.Errorf("attachment %q: the JSON of the result does not contain it", attachment.name)
	}
	return result, attachment, nil
}
