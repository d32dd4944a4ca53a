package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// binding calls a definition's functions on encoded values.
type binding[P, T, R any] struct {
	def    Definition[P, T, R]
	params paramsCodec[P]
	last   atomic.Pointer[parsedParams[P]] // the parameters that parsed has returned last

	attachment struct { // field of the result that is an Attachment
		exists bool
		field  []int
	}
}

func bind[P, T, R any](d Definition[P, T, R]) (*binding[P, T, R], error) {
	b := &binding[P, T, R]{def: d}
	if d.Plan == nil || d.Open == nil || d.Merge == nil || d.Finish == nil {
		return b, errors.New("want all of Plan, Open, Merge and Finish")
	}
	if d.Merger != nil && d.Shards != nil {
		return b, errors.New("Merger and Shards: want one of them, because only Merge merges shards")
	}
	if s := d.SecondPass; s != nil {
		switch {
		case d.Merger != nil || d.Shards != nil:
			return b, errors.New("SecondPass: want neither a Merger nor Shards")
		case d.Estimate != nil || d.Stop != nil:
			return b, errors.New("SecondPass: want neither Estimate nor Stop, because the job has rounds")
		case s.Has == nil || s.Spill == nil || s.State == nil || s.Open == nil:
			return b, errors.New("SecondPass: want all of Has, Spill, State and Open")
		}
	}
	if err := d.Large.check(d.Shards != nil, d.SecondPass != nil); err != nil {
		return b, err
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

// end ends a call of the definition's functions: it turns a panic into an error, and adds to an error
// the name of the job. The methods defer end.
func (b *binding[P, T, R]) end(doing string, err *error) {
	if v := recover(); v != nil {
		*err = newPanicError(v)
	}
	if *err != nil {
		*err = fmt.Errorf("%s job %s: %w", doing, b.def.Name, *err)
	}
}

func (b *binding[P, T, R]) normalize(base []byte, pairs []string) (params Params, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(base, pairs)
	if err != nil {
		return nil, err
	}
	return b.params.encode(p)
}

func (b *binding[P, T, R]) encode(params any) (encoded Params, err error) {
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

func (b *binding[P, T, R]) plan(ctx context.Context, params Params) (plan Plan, err error) {
	defer b.end("plan", &err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return Plan{}, err
	}
	if plan, err = b.def.Plan(ctx, p); err != nil {
		return Plan{}, err
	}
	if _, err = engine.NewTree(plan.Partitions); err != nil {
		return Plan{}, err
	}
	return plan, nil
}

func (b *binding[P, T, R]) preview(ctx context.Context, params Params, plan Plan) (preview Preview, err error) {
	defer b.end("preview input of", &err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return preview, err
	}
	return b.def.Preview(ctx, p, plan)
}

func (b *binding[P, T, R]) items(ctx context.Context, params Params, plan Plan) (names func(partition uint64) string, err error) {
	defer b.end("name items of", &err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, err
	}
	if b.def.Items == nil {
		return func(uint64) string { return "" }, nil
	}
	return b.def.Items(ctx, p, plan)
}

func (b *binding[P, T, R]) Open(ctx context.Context, params []byte, partitions uint64, planData []byte) (engine.Task, error) {
	t, err := b.open(ctx, params, Plan{partitions, planData})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (b *binding[P, T, R]) open(ctx context.Context, params Params, plan Plan) (_ openTask, err error) {
	defer b.end("open", &err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, err
	}
	mapper, err := b.def.Open(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	t, err := b.newTask(p, plan, mapper)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// newTask returns the task of a mapper that the definition has returned.
func (b *binding[P, T, R]) newTask(p P, plan Plan, mapper Mapper[T]) (t *task[T], err error) {
	t = &task[T]{opened: opened[T]{mapper: mapper, codec: b.def.Codec, merge: b.merger(p), pool: new(spares[T]), estimates: b.estimates(p)}, aliases: b.InPlace(), plan: plan}
	if t.tree, err = engine.NewTree(plan.Partitions); err != nil {
		return nil, err
	}
	if mapper == nil {
		return nil, errors.New("Open returned neither a mapper nor an error")
	}
	if err := oneWay[T](mapper); err != nil {
		return nil, err
	}
	if _, ok := mapper.(Filler[T]); ok {
		if t.merge.outside != nil && !b.def.sharded {
			return nil, fmt.Errorf("the mapper %T has the method Fill, and the definition a Merger: want one of them", mapper)
		}
		if err := fillable(reflect.TypeFor[T]()); err != nil {
			return nil, err
		}
		t.pool.share = sharing[T]()
	}
	if sizer, ok := mapper.(Sizer); ok {
		t.partialBytes = sizer.PartialBytes()
	}
	return t, nil
}

func (b *binding[P, T, R]) InPlace() bool {
	_, ok := b.def.Codec.(interface{ aliases() })
	return ok
}

func (b *binding[P, T, R]) DecodedSize(partial []byte) uint64 {
	size := uint64(len(partial))
	if c, ok := b.def.Codec.(interface{ decodedSize([]byte) uint64 }); ok {
		size = max(size, c.decodedSize(partial))
	}
	return size
}

func (b *binding[P, T, R]) decode(partial engine.Operand) (value T, err error) {
	if partial.Own {
		value, err = decodeInPlace(b.def.Codec, partial.Data)
	} else {
		value, err = b.def.Codec.Decode(partial.Data)
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

// merger merges the partials of a job. It has one of merge and outside, and at most one of shards and spill, only with merge.
type merger[T any] struct {
	merge   func(left, right T) (T, error)                      // the definition's Merge
	shards  Sharder[T]                                          // the definition's Shards, or nil
	outside func(ctx context.Context, left, right T) (T, error) // the function that the definition's Merger returned
	spill   func(ctx context.Context, merged T) (T, error)      // the Spill of the definition's SecondPass, or nil
	plain   bool                                                // there is only the definition's Merge
}

func (m merger[T]) call(ctx context.Context, left, right T) (T, error) {
	if m.outside != nil {
		return m.outside(ctx, left, right)
	}
	if m.shards != nil {
		return m.mergeWithIdle(ctx, left, right)
	}
	if m.spill != nil {
		return m.mergeAndSpill(ctx, left, right)
	}
	return m.merge(left, right)
}

func (b *binding[P, T, R]) merger(p P) merger[T] {
	if b.def.Merger != nil {
		if outside := b.def.Merger(p); outside != nil {
			return merger[T]{outside: outside}
		}
	}
	m := merger[T]{merge: b.def.Merge, shards: b.def.Shards}
	if s := b.def.SecondPass; s != nil && s.Has(p) {
		m.spill = func(ctx context.Context, merged T) (T, error) { return s.Spill(ctx, p, merged) }
	}
	m.plain = m.shards == nil && m.spill == nil
	return m
}

// mergerOf returns the function that merges partials of a job with the given stored parameters.
func (b *binding[P, T, R]) mergerOf(params []byte) (m merger[T], err error) {
	var p P
	if b.def.Merger != nil || b.def.SecondPass != nil {
		if p, err = b.parsed(params); err != nil {
			return m, err
		}
	}
	return b.merger(p), nil
}

func (b *binding[P, T, R]) checkAudit(params Params) error {
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

func (b *binding[P, T, R]) family(params Params, build string) (key Key, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return Key{}, err
	}
	if b.def.NoReuse != nil {
		if reason := b.def.NoReuse(p); reason != "" {
			return Key{}, fmt.Errorf("job %s cannot reuse partials of other jobs: %s", b.def.Name, reason)
		}
	}
	if s := b.def.SecondPass; s != nil && s.Has(p) {
		return Key{}, fmt.Errorf("job %s cannot reuse partials of other jobs: it may have a second pass", b.def.Name)
	}
	codec := fmt.Sprintf("%T", b.def.Codec)
	return engine.NewKey([]byte("family"), []byte(b.def.Name), []byte(b.def.Version), params, []byte(codec), []byte(build)), nil
}

// HasMerger implements [engine.Job]. For parameters that cannot be parsed HasMerger returns false,
// because Merge reports that error.
func (b *binding[P, T, R]) HasMerger(params []byte) (has bool) {
	defer func() { _ = recover() }()
	m, err := b.mergerOf(params)
	return err == nil && (m.outside != nil || m.spill != nil)
}

// Spills implements [engine.Job].
func (b *binding[P, T, R]) Spills() bool { return b.def.SecondPass != nil || b.def.sharded }

func (b *binding[P, T, R]) Merge(ctx context.Context, params []byte, left, right engine.Operand) (merged []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			merged, err = nil, Permanent(newPanicError(v))
		}
		if err != nil {
			err = fmt.Errorf("merge partials of job %s: %w", b.def.Name, err)
		}
	}()
	by, err := b.mergerOf(params)
	if err != nil {
		return nil, Permanent(err)
	}
	l, err := b.decode(left)
	if err != nil {
		return nil, err
	}
	r, err := b.decode(right)
	if err != nil {
		return nil, err
	}
	m, err := by.call(ctx, l, r)
	switch {
	case err != nil && by.outside != nil, err != nil && by.spill != nil:
		return nil, err
	case err != nil:
		return nil, Permanent(err)
	}
	if merged, err = encodeInPlace(b.def.Codec, m); err != nil {
		return nil, Permanent(fmt.Errorf("Codec.Encode: %w", err))
	}
	return merged, nil
}

func (b *binding[P, T, R]) recode(partial []byte) (again []byte, err error) {
	defer recoverTo(&err)
	t, err := b.def.Codec.Decode(partial)
	if err != nil {
		return nil, err
	}
	return b.def.Codec.Encode(t)
}

func (b *binding[P, T, R]) Finish(ctx context.Context, params []byte, root engine.Operand) (result json.RawMessage, attached engine.Attachment, err error) {
	defer b.end("finish", &err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, nil, err
	}
	t, err := b.decode(root)
	if err != nil {
		return nil, nil, err
	}
	r, err := b.def.Finish(ctx, p, t)
	if err != nil {
		return nil, nil, err
	}
	return b.encodeResult(r)
}

// encodeResult returns the JSON of a result, and the attachment of the result or nil.
func (b *binding[P, T, R]) encodeResult(r R) (result json.RawMessage, attached engine.Attachment, err error) {
	attachment, err := b.attachmentOf(&r)
	if err != nil {
		return nil, nil, err
	}
	if result, err = json.Marshal(r); err != nil {
		return nil, nil, fmt.Errorf("encode result: %w", err)
	}
	if attachment.name == "" {
		return result, nil, nil
	}
	if described, _ := FindAttachment(result); described.sha256 != attachment.sha256 {
		return nil, nil, fmt.Errorf("attachment %q: the JSON of the result does not contain it", attachment.name)
	}
	return result, attachment, nil
}

// attachmentOf returns the attachment of a result, or the zero Attachment.
func (b *binding[P, T, R]) attachmentOf(r *R) (a Attachment, err error) {
	if b.attachment.exists {
		a = reflect.ValueOf(r).Elem().FieldByIndex(b.attachment.field).Interface().(Attachment)
		err = a.complete()
	}
	return a, err
}

// Rounds implements [engine.Job].
func (b *binding[P, T, R]) Rounds([]byte) uint64 { return 0 }

// Start implements [engine.Job].
func (b *binding[P, T, R]) Start(context.Context, []byte, uint64, []byte, []byte) ([]byte, error) {
	return nil, fmt.Errorf("job %s has no rounds", b.def.Name)
}

// Continues implements [engine.Job].
func (b *binding[P, T, R]) Continues() bool { return false }

// Next implements [engine.Job].
func (b *binding[P, T, R]) Next(context.Context, []byte, engine.Round, engine.Operand) (engine.Step, error) {
	return engine.Step{}, fmt.Errorf("job %s has no rounds", b.def.Name)
}
