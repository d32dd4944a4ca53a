package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/engine/caches"
)

// roundsBinding calls the functions of a definition with rounds on encoded values. The functions that the
// definition has in common with a [Definition] are called by the embedded binding.
type roundsBinding[P, S, T, R any] struct {
	*binding[P, T, R]
	rounds Rounds[P, S, T, R]
}

func bindRounds[P, S, T, R any](d Rounds[P, S, T, R]) (b *roundsBinding[P, S, T, R], err error) {
	if d.Start == nil || d.Open == nil || d.Next == nil || d.MaxRounds == nil || d.Finish == nil {
		return nil, errors.New("want all of Plan, Start, Open, Merge, Next, MaxRounds and Finish")
	}
	if d.StateCodec == nil {
		if d.StateCodec, err = newCBORCodec[S](); err != nil {
			return nil, fmt.Errorf("the default codec cannot encode states: %w", err)
		}
	}
	common := Definition[P, T, R]{
		Name: d.Name, Version: d.Version, Summary: d.Summary, Defaults: d.Defaults,
		Plan: d.Plan, Merge: d.Merge, Codec: d.Codec, Shards: d.Shards, Limits: d.Limits, Restricted: d.Restricted,
		Preview: d.Preview, Items: d.Items, NoAudit: d.NoAudit,
		NoReuse: func(P) string { return "it has rounds" },
		Open:    func(context.Context, P, Plan) (Mapper[T], error) { return outsideRounds[T]{}, nil },
		Finish:  func(context.Context, P, T) (r R, err error) { return r, errNoRound },
	}
	with, err := bind(common)
	if err != nil {
		return nil, err
	}
	return &roundsBinding[P, S, T, R]{with, d}, nil
}

// Rounds implements [engine.Job]. If MaxRounds cannot be called, panics or returns 0, Rounds returns 1, because Next reports
// that error.
func (b *roundsBinding[P, S, T, R]) Rounds(params []byte) (most uint64) {
	defer func() {
		if recover() != nil {
			most = 1
		}
	}()
	p, err := b.parsed(params)
	if err != nil {
		return 1
	}
	return max(1, b.rounds.MaxRounds(p))
}

// Start implements [engine.Job].
func (b *roundsBinding[P, S, T, R]) Start(ctx context.Context, params []byte, partitions uint64, planData, earlier []byte) (state []byte, err error) {
	defer b.end("start", &err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, err
	}
	s, err := b.start(ctx, p, Plan{partitions, planData}, earlier)
	if err != nil {
		return nil, err
	}
	return b.encodeState(s)
}

func (b *roundsBinding[P, S, T, R]) start(ctx context.Context, p P, plan Plan, earlier []byte) (S, error) {
	switch {
	case earlier == nil:
		return b.rounds.Start(ctx, p, plan)
	case !b.Continues():
		var none S
		return none, Permanent(errors.New("the job cannot continue from an earlier one: its definition has no Continue"))
	}
	last, err := b.decodeState(earlier)
	if err != nil {
		return last, err
	}
	return b.rounds.Continue(ctx, p, plan, last)
}

// Continues implements [engine.Job].
func (b *roundsBinding[P, S, T, R]) Continues() bool { return b.rounds.Continue != nil }

// Next implements [engine.Job].
func (b *roundsBinding[P, S, T, R]) Next(ctx context.Context, params []byte, round engine.Round, total engine.Operand) (step engine.Step, err error) {
	defer b.end(fmt.Sprintf("compute the state after round %d of", round.Number), &err)
	p, err := b.parsed(params)
	if err != nil {
		return step, err
	}
	decode := b.decodeState
	if round.Own {
		decode = func(data []byte) (S, error) { return decodeInPlace(b.rounds.StateCodec, data) }
	}
	state, err := decode(round.State)
	if err != nil {
		return step, err
	}
	t, err := b.decode(total)
	if err != nil {
		return step, err
	}
	next, err := b.rounds.Next(ctx, p, state, t, round.Number)
	if err != nil {
		return step, err
	}
	if b.rounds.Measure == "" {
		next.Value = 0
	}
	if math.IsNaN(next.Value) || math.IsInf(next.Value, 0) {
		return step, Permanent(fmt.Errorf("the %s is %v: want a finite number", b.rounds.Measure, next.Value))
	}
	most := b.rounds.MaxRounds(p)
	if most == 0 {
		return step, Permanent(errors.New("MaxRounds returned 0: want at least 1"))
	}
	step.Value, step.Done = next.Value, next.Done || round.Number >= most
	step.State, err = b.encodeState(next.State)
	return step, err
}

// Finish implements [engine.Job]. The operand is the last state.
func (b *roundsBinding[P, S, T, R]) Finish(ctx context.Context, params []byte, last engine.Operand) (result json.RawMessage, attached engine.Attachment, err error) {
	defer b.end("finish", &err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, nil, err
	}
	state, err := b.decodeState(last.Data)
	if err != nil {
		return nil, nil, err
	}
	r, err := b.rounds.Finish(ctx, p, state)
	if err != nil {
		return nil, nil, err
	}
	return b.encodeResult(r)
}

func (b *roundsBinding[P, S, T, R]) encodeState(s S) ([]byte, error) {
	if at := findNaN(reflect.ValueOf(&s).Elem(), "state", maxNesting); at != "" {
		return nil, Permanent(fmt.Errorf("%s is NaN, so all further rounds would be NaN too", at))
	}
	data, err := encodeInPlace(b.rounds.StateCodec, s)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return data, nil
}

func (b *roundsBinding[P, S, T, R]) decodeState(data []byte) (s S, err error) {
	if s, err = b.rounds.StateCodec.Decode(data); err != nil {
		err = fmt.Errorf("decode state: %w", err)
	}
	return s, err
}

func (b *roundsBinding[P, S, T, R]) Open(ctx context.Context, params []byte, partitions uint64, planData []byte) (engine.Task, error) {
	t, err := b.open(ctx, params, Plan{partitions, planData})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (b *roundsBinding[P, S, T, R]) open(ctx context.Context, params Params, plan Plan) (_ openTask, err error) {
	defer b.end("open", &err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, err
	}
	outside, err := b.newTask(p, plan, outsideRounds[T]{})
	if err != nil {
		return nil, err
	}
	t := &roundsTask[P, S, T, R]{task: outside, binding: b, params: p}
	ctx, t.caches = openCaches(ctx)
	if t.rounder, err = b.rounds.Open(ctx, p, plan); err == nil && t.rounder == nil {
		err = errors.New("Open returned neither a Rounder nor an error")
	}
	return t, err
}

// roundsTask is the [engine.Task] of a job with rounds. Its partitions run in the tasks that Round returns.
type roundsTask[P, S, T, R any] struct {
	*task[T]
	binding *roundsBinding[P, S, T, R]
	params  P
	rounder Rounder[S, T]
	caches  *caches.Job // counts what the rounder keeps with [Cache]
}

func (t *roundsTask[P, S, T, R]) Round(ctx context.Context, state []byte) (engine.Task, error) {
	r, err := t.round(ctx, state)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (t *roundsTask[P, S, T, R]) round(ctx context.Context, state []byte) (_ openTask, err error) {
	defer t.binding.end("begin a round of", &err)
	s, err := t.binding.decodeState(state)
	if err != nil {
		return nil, err
	}
	beginRound(ctx, t.caches)
	mapper, err := t.rounder.Round(ctx, s)
	if err != nil {
		return nil, err
	}
	r, err := t.binding.newTask(t.params, t.plan, mapper)
	if err != nil {
		return nil, err
	}
	return &roundTask[S, T]{task: r, state: s, encoded: state, codec: t.binding.rounds.StateCodec}, nil
}

func (t *roundsTask[P, S, T, R]) IsCloser() bool {
	_, ok := t.rounder.(io.Closer)
	return ok
}

func (t *roundsTask[P, S, T, R]) Close() error {
	defer t.caches.Close()
	return closeUsers(t.rounder)
}

func (t *roundsTask[P, S, T, R]) CleanUp(ctx context.Context) error {
	return cleanUpUsers(ctx, t.rounder)
}

// roundTask is the [engine.Task] of one round.
type roundTask[S, T any] struct {
	*task[T]
	state   S
	encoded []byte
	codec   Codec[S]
}

// stateChanged reports whether the round's partitions have changed the state.
func (t *roundTask[S, T]) stateChanged() (bool, error) {
	again, err := t.codec.Encode(t.state)
	return err == nil && string(again) != string(t.encoded), err
}

// findNaN returns the path to a NaN in the exported fields and elements of a value, or an empty text.
func findNaN(v reflect.Value, path string, levels int) string {
	if levels--; levels < 0 {
		return "" // a codec of the definition may encode cyclic values
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(v.Float()) {
			return path
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return findNaN(v.Elem(), path, levels)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if at := findNaN(v.Field(i), path+"."+f.Name, levels); at != "" {
					return at
				}
			}
		}
	case reflect.Slice, reflect.Array:
		return findNaNIn(v, path, levels)
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if at := findNaN(it.Value(), fmt.Sprintf("%s[%v]", path, it.Key()), levels); at != "" {
				return at
			}
		}
	}
	return ""
}

// findNaNIn is findNaN for slices and arrays. Large states are slices of floats, so these are not walked by
// reflection.
func findNaNIn(v reflect.Value, path string, levels int) string {
	switch kind := v.Type().Elem().Kind(); {
	case kind == reflect.Float64 && v.Kind() == reflect.Slice:
		for i, x := range v.Convert(reflect.TypeFor[[]float64]()).Interface().([]float64) {
			if x != x {
				return fmt.Sprintf("%s[%d]", path, i)
			}
		}
		return ""
	case kind < reflect.Float32:
		return "" // bools and integers
	}
	for i := range v.Len() {
		if at := findNaN(v.Index(i), fmt.Sprintf("%s[%d]", path, i), levels); at != "" {
			return at
		}
	}
	return ""
}
