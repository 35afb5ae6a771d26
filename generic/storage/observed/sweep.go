package observed

import "context"

type sweep struct{}

// Sweep returns a context in which ranges are counted without a resource. Controllers that read all resources
// use it: otherwise each custom resource would have series, even if no client ever requests it.
func Sweep(ctx context.Context) context.Context { return context.WithValue(ctx, sweep{}, true) }

func sweeps(ctx context.Context) bool { return ctx.Value(sweep{}) != nil }
