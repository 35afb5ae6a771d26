package request

import (
	"context"

	"triplane.dev/generic/base/user"
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

// WithInfo returns a context with the parsed request.
func WithInfo(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, infoKey, info)
}

// InfoFrom returns the parsed request, or nil.
func InfoFrom(ctx context.Context) *Info {
	i, _ := ctx.Value(infoKey).(*Info)
	return i
}

// WithUser returns a context with the user of the request.
func WithUser(ctx context.Context, u *user.Info) context.Context {
	return context.WithValue(ctx, userKey, u)
}

// UserFrom returns the user of the request, or nil before authentication.
func UserFrom(ctx context.Context) *user.Info {
	u, _ := ctx.Value(userKey).(*user.Info)
	return u
}

// WorkspaceFrom returns the name of the request's workspace; "" outside workspaces.
func WorkspaceFrom(ctx context.Context) string {
	if s := StateFrom(ctx); s != nil {
		return s.Workspace
	}
	return ""
}

// WithNamespace returns a context with the namespace of storage operations.
func WithNamespace(ctx context.Context, namespace string) context.Context {
	return context.WithValue(ctx, namespaceKey, namespace)
}

// NamespaceFrom returns the namespace of storage operations. It is "" for all namespaces and for cluster-scoped
// resources.
func NamespaceFrom(ctx context.Context) string {
	n, _ := ctx.Value(namespaceKey).(string)
	return n
}

// SkippingUnreadable returns a context in which lists and watches log and omit stored objects that cannot be
// decoded. It is for informers inside the server, which one such object must not stop. Requests of clients
// never have it.
func SkippingUnreadable(ctx context.Context) context.Context {
	return context.WithValue(ctx, skipKey, true)
}

// SkipsUnreadable reports whether objects that cannot be decoded are omitted.
func SkipsUnreadable(ctx context.Context) bool {
	skips, _ := ctx.Value(skipKey).(bool)
	return skips
}
