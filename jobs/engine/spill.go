package engine

import "context"

// Spills keeps what the partials of a job have moved to storage. The methods may be called from several goroutines.
type Spills interface {
	// PutSpill stores data for the next round of the same job, and returns their name, the SHA-256 in hexadecimal.
	PutSpill(ctx context.Context, data []byte) (name string, err error)
	// Spill returns data that the round before has stored. The caller owns the data.
	Spill(ctx context.Context, name string) ([]byte, error)
}

type spillsKey struct{}

// WithSpills returns a context with which the code of a job can move data to storage.
func WithSpills(ctx context.Context, s Spills) context.Context {
	return context.WithValue(ctx, spillsKey{}, s)
}

// SpillsOf returns the value of WithSpills, or nil.
func SpillsOf(ctx context.Context) Spills {
	s, _ := ctx.Value(spillsKey{}).(Spills)
	return s
}
