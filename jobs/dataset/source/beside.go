package source

import (
	"context"
	"slices"
)

type besideKey struct{}

// Beside returns a context in which the sets of [With] also contain another source, whatever their other
// sources are.
func Beside(ctx context.Context, s Source) context.Context {
	return context.WithValue(ctx, besideKey{}, append(slices.Clone(besides(ctx)), s))
}

func besides(ctx context.Context) []Source {
	list, _ := ctx.Value(besideKey{}).([]Source)
	return list
}
