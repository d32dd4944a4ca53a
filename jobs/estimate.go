package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// MaxEstimate is the maximum size in bytes of the JSON of an estimate.
const MaxEstimate = engine.MaxEstimate

// Estimated is an estimate of a job's result from its first partitions.
type Estimated struct {
	Partitions uint64          `cbor:"1,keyasint" json:"partitions"`  // number of partitions of the prefix
	Value      json.RawMessage `cbor:"2,keyasint" json:"value"`       // what the definition's Estimate returned
	At         time.Duration   `cbor:"3,keyasint,omitempty" json:"-"` // time since the job began; 0 in a local run
}

// Stopped describes the end of a job whose result comes from its first partitions.
type Stopped struct {
	At    uint64 `cbor:"1,keyasint" json:"partitions"`      // number of partitions that the result contains
	Rung  int    `cbor:"2,keyasint" json:"rung"`            // number of the rung, from 1
	Timed bool   `cbor:"3,keyasint,omitempty" json:"timed"` // true if the time was up, so that At may be different in another run
}

// StopsEarly reports whether a job with these parameters can end with the best result that it has when its time is up: a
// job with estimates or rounds, but not one with a second pass.
func (j Job) StopsEarly(p Params) bool { return j.Estimates(p) || j.Iterates(p) }

// Estimates reports whether a job with these parameters has estimates or stops.
func (j Job) Estimates(p Params) bool { return j.binding.Estimates(p) }

func (b *binding[P, T, R]) estimates(p P) bool {
	return (b.def.Estimate != nil || b.def.Stop != nil) && (b.def.NoEstimates == nil || !b.def.NoEstimates(p))
}

// parsedParams are parameters and their stored form.
type parsedParams[P any] struct {
	stored string
	params P
}

// parsed returns parameters in the stored form. It keeps the last ones, because to read parameters usually takes
// longer than to judge a prefix.
func (b *binding[P, T, R]) parsed(stored []byte) (P, error) {
	if last := b.last.Load(); last != nil && last.stored == string(stored) {
		return last.params, nil
	}
	p, err := b.params.parse(stored, nil)
	if err == nil {
		b.last.Store(&parsedParams[P]{string(stored), p})
	}
	return p, err
}

// Estimates implements [engine.Job].
func (b *binding[P, T, R]) Estimates(params []byte) (has bool) {
	defer func() { _ = recover() }()
	p, err := b.parsed(params)
	return err == nil && b.estimates(p)
}

// Estimate implements [engine.Job]. An error names the function that failed.
func (b *binding[P, T, R]) Estimate(ctx context.Context, params []byte, prefix engine.Operand, n uint64) (e engine.Estimate, err error) {
	function := "Codec.Decode"
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
		if err != nil {
			err = fmt.Errorf("%s of the first %d partitions of job %s: %w", function, n, b.def.Name, err)
		}
	}()
	p, err := b.parsed(params)
	if err != nil {
		return e, err
	}
	t, err := b.decode(prefix)
	if err != nil {
		return e, err
	}
	e.Value = json.RawMessage("null")
	if function = "Estimate"; b.def.Estimate != nil {
		value, err := b.def.Estimate(ctx, p, t, n)
		if err != nil {
			return e, err
		}
		if e.Value, err = encodeEstimate(value); err != nil {
			return e, err
		}
	}
	if function = "Stop"; b.def.Stop != nil {
		e.Stop, err = b.def.Stop(ctx, p, t, n)
	}
	return e, err
}

func encodeEstimate(value any) (json.RawMessage, error) {
	data, err := json.Marshal(value)
	var unsupported *json.UnsupportedValueError
	switch {
	case errors.As(err, &unsupported):
		return nil, fmt.Errorf("the estimate contains %s, which JSON cannot express: return nil if there is no estimate yet", unsupported.Str)
	case err != nil:
		return nil, fmt.Errorf("encode the estimate: %w", err)
	case len(data) > MaxEstimate:
		return nil, fmt.Errorf("the JSON of the estimate has %d bytes: want at most %d", len(data), MaxEstimate)
	}
	return data, nil
}
