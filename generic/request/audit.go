package request

import (
	"context"

	"triplane/generic/audit"
)

// AuditFrom returns the record of the request that ctx belongs to; nil where the
// request is not audited, which all methods of a record accept.
func AuditFrom(ctx context.Context) *audit.Record {
	if s := StateFrom(ctx); s != nil {
		return s.Audit
	}
	return nil
}

// Annotate adds an annotation to the audit events of the request that ctx belongs
// to. It does nothing where the request is not audited; where a value takes work
// to make, ask AuditFrom first.
func Annotate(ctx context.Context, key, value string) { AuditFrom(ctx).Annotate(key, value) }
