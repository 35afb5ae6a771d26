package observed

import "context"

type sweep struct{}

// Sweep returns a context in which ranges are counted together, under no resource. It is for
// controllers that read all resources: most of many custom resources are never requested, and
// have no series until they are.
func Sweep(ctx context.Context) context.Context { return context.WithValue(ctx, sweep{}, true) }

func sweeps(ctx context.Context) bool { return ctx.Value(sweep{}) != nil }
