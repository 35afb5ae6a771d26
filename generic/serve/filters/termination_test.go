package filters

import (
	"context"
	"testing"
	"time"
)

// A long-running request that starts while previous ones are cancelled is cancelled as well.
func TestTerminationOfLateRequests(t *testing.T) {
	terminating := make(chan struct{})
	all := &termination{terminating: terminating, cancels: map[uint64]context.CancelFunc{}}
	early, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer all.enter(cancel)()
	close(terminating)
	late, cancelLate := context.WithCancel(t.Context())
	defer cancelLate()
	<-early.Done()
	defer all.enter(cancelLate)()
	select {
	case <-late.Done():
	case <-time.After(30 * time.Second):
		t.Error("the request goes on")
	}
}
