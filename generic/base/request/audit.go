package request

import "context"

// Annotator adds annotations to the audit events of a request. It is safe for concurrent use.
type Annotator interface{ Annotate(key, value string) }

// Annotate adds an annotation to the audit events of the request that ctx belongs to. It does nothing if the
// request is not audited.
func Annotate(ctx context.Context, key, value string) {
	if s := StateFrom(ctx); s != nil && s.Audit != nil {
		s.Audit.Annotate(key, value)
	}
}
