package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bellwether-compute/bellwether/jobs"
)

// estimate calls the program of a job with the merged outputs of the first n calls, and returns the JSON that it
// writes. If the program writes nothing, there is no estimate yet.
func (r *runners) estimate(ctx context.Context, j job, prefix []byte, n uint64) (any, error) {
	_, text, err := openText(prefix)
	if err != nil {
		return nil, err
	}
	output, err := r.call(ctx, j, call{
		phase: "estimate", numbers: [2]uint64{n},
		env:      []string{"BELLWETHER_PREFIX=" + strconv.FormatUint(n, 10)},
		operands: []operand{{".prefix", text}},
	})
	switch {
	case err != nil:
		return nil, err
	case len(bytes.TrimSpace(output)) == 0:
		return nil, nil
	case !json.Valid(output):
		return nil, jobs.Permanent(fmt.Errorf("estimate: the program wrote %.80q: want JSON, or nothing if there is no estimate yet", output))
	}
	return json.RawMessage(output), nil
}
