package worker

import (
	"context"
	"errors"
	"testing"
)

func TestPanicsEndNothing(t *testing.T) {
	before := Panics()
	done := make(chan bool)
	Go(func() {
		defer close(done)
		panic("alone")
	})
	<-done
	var all Group
	for range 3 {
		all.Go(func() { panic("in a group") })
	}
	all.Wait()
	err := Try(func() error { panic("with a result") })
	var panicked *PanicError
	if !errors.As(err, &panicked) || panicked.Value != "with a result" {
		t.Errorf("the error is %v", err)
	}
	if n := Panics() - before; n != 5 && n != 4 { // the first may be counted a moment later
		t.Errorf("%d panics", n)
	}
}

func TestErrorsArePassedOn(t *testing.T) {
	wrong := errors.New("wrong")
	if err := Try(func() error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
}

func TestWorkersAreKept(t *testing.T) {
	runs := 0
	Keep(t.Context(), func(context.Context) {
		if runs++; runs < 2 {
			panic("once")
		}
	})
	if runs != 2 {
		t.Errorf("it ran %d times", runs)
	}
}

func TestWorkersAreKeptNoLongerThanTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	Keep(ctx, func(context.Context) {
		runs++
		cancel()
		panic("at the end")
	})
	if runs != 1 {
		t.Errorf("it ran %d times", runs)
	}
}
