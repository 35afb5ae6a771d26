package embedded

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage/embedded/raftlog"
)

// newLogger returns a logger that passes etcd's warnings and errors to klog. Fatal messages panic instead of
// ending the process.
func newLogger() *zap.Logger { return newLoggerOf(panics{}, klogCore{logged: &logStatus{}}) }

// newLoggerOf returns a logger with a hook for fatal messages and panics.
func newLoggerOf(hook zapcore.CheckWriteHook, core klogCore) *zap.Logger {
	return zap.New(core, zap.WithFatalHook(hook), zap.WithPanicHook(hook))
}

// panics is the hook for callers that recover.
type panics struct{}

func (panics) OnWrite(e *zapcore.CheckedEntry, fields []zapcore.Field) { panic(reason(e, fields)) }

// reason returns the error of a fatal log entry.
func reason(e *zapcore.CheckedEntry, fields []zapcore.Field) error {
	for _, f := range fields {
		if err, is := f.Interface.(error); is && f.Type == zapcore.ErrorType {
			return fmt.Errorf("%s: %w", e.Message, err)
		}
	}
	return errors.New(e.Message)
}

// klogCore is a zapcore.Core that writes to klog.
type klogCore struct {
	fields []zapcore.Field
	logged *logStatus
	// reach and log observe messages of a cluster; nil for a single member.
	reach *reach
	log   *raftlog.Log
	// saved, if set, is called after etcd has saved a snapshot of the log.
	saved func()
}

// savedSnapshot is the message of etcd after it has saved a snapshot of the log.
const savedSnapshot = "saved snapshot to disk"

// Enabled implements zapcore.LevelEnabler. Some entries of lower levels are observed, in a cluster also for debugging.
func (c klogCore) Enabled(level zapcore.Level) bool {
	return level >= zapcore.InfoLevel || c.reach != nil
}

func (c klogCore) With(fields []zapcore.Field) zapcore.Core {
	c.fields = append(c.fields[:len(c.fields):len(c.fields)], fields...)
	return c
}

func (c klogCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.log.Check(e.Message) || e.Level >= zapcore.WarnLevel || e.Message == peerActive || e.Message == savedSnapshot {
		return checked.AddCore(e, c)
	}
	return checked
}

// expected are messages that are not logged: about normal conditions, problems that etcd repairs immediately,
// and a stop right after the start.
var expected = map[string]bool{
	"simple token is not cryptographically signed": true,
	"check file permission":                        true,
	"Failed to detect schema version":              true,
	"failed to update storage version":             true,
	"failed to update cluster version":             true,
	"stopped publish because server is stopping":   true,

	"failed to publish local member to cluster through raft": true,

	// The following messages repeat every few seconds what "peer became inactive" reports once.
	"prober detected unhealthy status":                                               true,
	"waiting for ReadIndex response took too long, retrying":                         true,
	"timed out waiting for read index response (local node might have slow network)": true,
	"leadership transfer failed":                                                     true,
	"ignored out-of-date read index response; local node read indexes queueing up and waiting to be in sync with leader": true,
	"failed to reach the peer URL":                              true,
	"failed to get version":                                     true,
	"lost TCP streaming connection with remote peer":            true,
	"closed TCP streaming connection with remote peer":          true,
	"closed existing TCP streaming connection with remote peer": true,
	"rejecting promote learner: learner is not ready":           true,
}

// wanted reports whether a message is relevant for operators. Warnings of raft are about elections, whose
// results followLeader logs.
func wanted(e zapcore.Entry) bool {
	return e.Level >= zapcore.WarnLevel && !expected[e.Message] &&
		(e.LoggerName != "raft" || e.Level >= zapcore.ErrorLevel)
}

func (c klogCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if e.Message == savedSnapshot && c.saved != nil {
		c.saved()
	}
	c.log.Write(e.Message, fields)
	c.logged.observe(e, fields)
	if c.reach != nil {
		c.reach.observe(e, fields)
	}
	if !wanted(e) {
		return nil
	}
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range c.fields {
		f.AddTo(enc)
	}
	for _, f := range fields {
		f.AddTo(enc)
	}
	pairs := make([]any, 0, 2*len(enc.Fields))
	for k, v := range enc.Fields {
		pairs = append(pairs, k, v)
	}
	if e.Level >= zapcore.ErrorLevel {
		klog.ErrorS(nil, "etcd: "+e.Message, pairs...)
	} else {
		klog.InfoS("etcd: "+e.Message, pairs...)
	}
	return nil
}

func (klogCore) Sync() error { return nil }

// logStatus is information that etcd only reports in its log.
type logStatus struct {
	mu      sync.Mutex
	removed bool
	problem string // last problem with another member
}

// errRemoved is the error of a member that others have removed.
var errRemoved = errors.New("this member was removed from its cluster: to have it join again, move its etcd " +
	"directory away and start it with --join")

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
