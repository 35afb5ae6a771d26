package request

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"triplane.dev/generic/base/user"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStateCarriesAndIsOverridden(t *testing.T) {
	s := &State{}
	s.Init(context.Background())
	s.Info, s.User = &Info{Verb: "get"}, &user.Info{Name: "a"}
	below := WithUser(s, &user.Info{Name: "b"})
	AddWarning(below, "w")
	AddWarning(below, "w")
	if InfoFrom(below).Verb != "get" || UserFrom(below).Name != "b" || UserFrom(s).Name != "a" {
		t.Error("state is not found, or not overridden")
	}
	if got := s.Warnings.Texts(); len(got) != 1 || got[0] != "w" {
		t.Errorf("warnings %q", got)
	}
	if StateFrom(below) != s || StateFrom(context.Background()) != nil {
		t.Error("StateFrom")
	}
	if InfoFrom(context.Background()) != nil || UserFrom(context.Background()) != nil {
		t.Error("nothing must come of an empty context")
	}
}

func TestStateDeadline(t *testing.T) {
	s := &State{}
	s.Init(context.Background())
	s.SetDeadline(time.Now().Add(-time.Second))
	if !errors.Is(s.Err(), context.DeadlineExceeded) {
		t.Errorf("err %v", s.Err())
	}
	select {
	case <-s.Done():
	default:
		t.Error("over, and not done")
	}
	s.Finish()
}

func TestStateChildrenEnd(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	s := &State{}
	s.Init(parent)
	s.SetDeadline(time.Now().Add(time.Hour))
	if s.Err() != nil || s.armed != nil {
		t.Error("a state without a call of Done must not be armed")
	}
	// goleak detects the goroutine that package context starts for the child of an unknown type of context.
	child, cancelChild := context.WithCancel(s)
	defer cancelChild()
	cancel()
	<-child.Done()
	if !errors.Is(s.Err(), context.Canceled) {
		t.Errorf("err %v", s.Err())
	}
	again := &State{}
	again.Init(context.Background())
	again.SetDeadline(time.Now().Add(time.Hour))
	child, cancelAgain := context.WithTimeout(again, time.Minute)
	defer cancelAgain()
	again.Finish()
	<-child.Done()
}

// At its deadline a request has an error, however late the timer of its context is.
func TestStateErrAtTheDeadline(t *testing.T) {
	for range 200 {
		s := &State{}
		s.Init(t.Context())
		deadline := time.Now().Add(time.Millisecond)
		s.SetDeadline(deadline)
		done := s.Done()
		for time.Now().Before(deadline) {
		}
		if err := s.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		<-done
		s.Finish()
	}
}
