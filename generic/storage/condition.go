package storage

import "context"

// Condition requires that a key is at a revision; 0 means that it must not exist. It is checked in the transaction of
// a write.
type Condition struct {
	Key      string
	Revision int64
}

type conditionKey struct{}

// WithCondition returns a context whose writes only happen if c holds.
func WithCondition(ctx context.Context, c Condition) context.Context {
	return context.WithValue(ctx, conditionKey{}, c)
}

// ConditionOf returns the condition of a context, and whether there is one.
func ConditionOf(ctx context.Context) (Condition, bool) {
	c, ok := ctx.Value(conditionKey{}).(Condition)
	return c, ok
}
