package request

import (
	"context"
	"sync"
)

// Warnings collects the texts of a response's Warning headers (RFC 7234, code 299), in order and without
// duplicates.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// WithWarnings returns a context in which AddWarning adds to w.
func WithWarnings(ctx context.Context, w *Warnings) context.Context {
	return context.WithValue(ctx, warningKey, w)
}

// AddWarning adds a warning to the response of the request that ctx belongs to. It does nothing if there is
// none, for example in calls of controllers.
func AddWarning(ctx context.Context, text string) {
	w, _ := ctx.Value(warningKey).(*Warnings)
	if w == nil || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.texts {
		if t == text {
			return
		}
	}
	w.texts = append(w.texts, text)
}

// Texts returns the warnings so far, or nil.
func (w *Warnings) Texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.texts) == 0 {
		return nil
	}
	return append([]string(nil), w.texts...)
}
