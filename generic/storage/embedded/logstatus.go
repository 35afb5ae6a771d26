package embedded

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.uber.org/zap/zapcore"
)

// logStatus is information that etcd only reports in its log.
type logStatus struct {
	mu      sync.Mutex
	removed bool
	problem string // last problem with another member
}

// errRemoved is the error of a member that others have removed.
var errRemoved = errors.New("this member was removed from its cluster: to have it join again, move its etcd directory away and start it with --join")

// observe processes an entry of etcd's log.
func (r *logStatus) observe(e zapcore.Entry, fields []zapcore.Field) {
	text, ofPeer := "", false
	for _, f := range fields {
		if err, is := f.Interface.(error); is && f.Type == zapcore.ErrorType {
			text = err.Error()
		}
		ofPeer = ofPeer || strings.HasSuffix(f.Key, "peer-id")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case strings.Contains(text, "permanently removed"):
		r.removed = true
	case ofPeer:
		r.problem = e.Message
		if text != "" {
			r.problem += ": " + text
		}
	}
}

// Err returns errRemoved if the member was removed.
func (r *logStatus) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed {
		return errRemoved
	}
	return nil
}

// lastProblem returns the last problem with another member as a suffix of an error message.
func (r *logStatus) lastProblem() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problem == "" {
		return ""
	}
	return fmt.Sprintf("; the last problem: %s", r.problem)
}
