package worker

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestOnDemand(t *testing.T) {
	d := NewOnDemand()
	select {
	case <-d.Wanted():
		t.Error("it is wanted before the first Wait")
	default:
	}
	if err := d.Wait(t.Context(), time.Millisecond); !errors.Is(err, context.DeadlineExceeded) || d.IsReady() {
		t.Errorf("it is ready too early: %v", err)
	}
	<-d.Wanted()
	ended, end := context.WithCancel(t.Context())
	end()
	if err := d.Wait(ended, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait lasts longer than its context: %v", err)
	}
	waited := make(chan error)
	Go(func() { waited <- d.Wait(t.Context(), time.Hour) })
	d.Ready()
	d.Ready()
	if err := <-waited; err != nil || !d.IsReady() || d.Wait(ended, 0) != nil {
		t.Errorf("it is not ready: %v", err)
	}
}
