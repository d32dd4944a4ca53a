package kvlease

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestIsTemporary(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{jetstream.ErrBucketNotFound, true},
		{fmt.Errorf("look up: %w", &jetstream.APIError{Code: 404, ErrorCode: jetstream.JSErrCodeStreamNotFound}), true},
		{&jetstream.APIError{Code: 503, ErrorCode: 10008}, true},
		{&jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeBadRequest}, false},
		{errors.New("it forgets values"), false},
	} {
		if got := isTemporary(c.err); got != c.want {
			t.Errorf("%v: got %v", c.err, got)
		}
	}
}
