package embedded

import (
	"runtime"
	"sync"

	"go.uber.org/zap/zapcore"
)

// failure is why a member cannot go on: its disk is full, or broken. Etcd would end the process, or
// panic in a goroutine of its own, which ends it too. Here that goroutine ends and Server.Done is closed,
// so that the process can be ended in order. The goroutine may hold locks, so the member must not be
// waited for from then on.
type failure struct {
	once   sync.Once
	failed chan struct{}
	err    error // read after failed
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

// Err returns why, nil while the member goes on.
func (f *failure) Err() error {
	select {
	case <-f.failed:
		return f.err
	default:
		return nil
	}
}
