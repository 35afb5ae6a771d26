package request

import (
	"context"

	"triplane/generic/base/user"
)

type key int

const (
	infoKey key = iota
	userKey
	namespaceKey
	stateKey
	warningKey
	skipKey
)

// WithInfo returns a context that carries the parsed request.
func WithInfo(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, infoKey, info)
}

// InfoFrom returns the parsed request, nil where there is none.
func InfoFrom(ctx context.Context) *Info {
	i, _ := ctx.Value(infoKey).(*Info)
	return i
}

// WithUser returns a context that carries who makes the request.
func WithUser(ctx context.Context, u *user.Info) context.Context {
	return context.WithValue(ctx, userKey, u)
}

// UserFrom returns who makes the request, nil before authentication.
func UserFrom(ctx context.Context) *user.Info {
	u, _ := ctx.Value(userKey).(*user.Info)
	return u
}

// WithNamespace returns a context in which storage works in a namespace.
func WithNamespace(ctx context.Context, namespace string) context.Context {
	return context.WithValue(ctx, namespaceKey, namespace)
}

// NamespaceFrom returns the namespace that storage works in; "" means all, or
// none for cluster-scoped resources.
func NamespaceFrom(ctx context.Context) string {
	n, _ := ctx.Value(namespaceKey).(string)
	return n
}

// SkippingUnreadable returns a context in which lists and watches leave out, and log,
// the objects that storage holds and nobody can read: for what follows objects inside
// the server, which one lost object must not stop. A request from outside never has it.
func SkippingUnreadable(ctx context.Context) context.Context {
	return context.WithValue(ctx, skipKey, true)
}

// SkipsUnreadable reports whether objects that cannot be read are left out.
func SkipsUnreadable(ctx context.Context) bool {
	skips, _ := ctx.Value(skipKey).(bool)
	return skips
}
