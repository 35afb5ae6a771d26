package embedded

import (
	"runtime"
	"sync"

	"go.uber.org/zap/zapcore"
)

// failure is the error because of which a member stops, for example a full or broken disk. etcd would end the
// process, or panic in a goroutine, which has the same effect. Instead that goroutine ends and Server.Done is
// closed, so that the process can shut down in order. The goroutine may hold locks, so nothing may wait for the
// member afterwards.
type failure struct {
	once   sync.Once
	failed chan struct{}
	err    error // set before failed is closed
}

func newFailure() *failure { return &failure{failed: make(chan struct{})} }

// OnWrite implements zapcore.CheckWriteHook.
func (f *failure) OnWrite(e *zapcore.CheckedEntry, fields []zapcore.Field) {
	f.once.Do(func() {
		f.err = reason(e, fields)
		close(f.failed)
	})
	runtime.Goexit()
}

// Err returns the error, or nil while the member runs.
func (f *failure) Err() error {
	select {
	case <-f.failed:
		return f.err
	default:
		return nil
	}
}
