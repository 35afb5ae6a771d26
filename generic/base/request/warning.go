package request

import (
	"context"
	"sync"
)

// Warnings collects what the answer's Warning headers shall say (RFC 7234,
// code 299), each text once, in order.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// WithWarnings returns a context in which AddWarning collects into w.
func WithWarnings(ctx context.Context, w *Warnings) context.Context {
	return context.WithValue(ctx, warningKey, w)
}

// AddWarning adds a warning to the answer of the request that ctx belongs to.
// It does nothing where there is none, as for a controller's own calls.
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

// Texts returns what was collected so far, nil where there is nothing.
func (w *Warnings) Texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.texts) == 0 {
		return nil
	}
	return append([]string(nil), w.texts...)
}
