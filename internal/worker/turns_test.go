package worker

import (
	"context"
	"testing"
	"time"
)

const soon, never = 5 * time.Second, time.Hour

// took returns when Wait returns, and how its turn ends.
func took(t *testing.T, turns *Turns) chan func() {
	ends := make(chan func(), 1)
	go func() { ends <- turns.Wait(t.Context()) }()
	return ends
}

func await(t *testing.T, ends chan func(), what string) (end func()) {
	t.Helper()
	select {
	case end := <-ends:
		return end
	case <-time.After(soon):
		t.Fatalf("%s: it is nobody's turn", what)
		return nil
	}
}

func none(t *testing.T, ends chan func(), what string) {
	t.Helper()
	select {
	case <-ends:
		t.Fatalf("%s: its turn has come", what)
	case <-time.After(20 * time.Millisecond):
	}
}

// Turns come one after the other, and after urgent work.
func TestTurns(t *testing.T) {
	turns := NewTurns(never, never)
	end := await(t, took(t, turns), "the first")
	second := took(t, turns)
	none(t, second, "while the first lasts")
	endUrgent, endOther := turns.Urgent(), turns.Urgent()
	end()
	end() // has no effect
	none(t, second, "while urgent work is done")
	endUrgent()
	none(t, second, "while other urgent work is done")
	endOther()
	await(t, second, "the second")()
	await(t, took(t, turns), "the third")()
}

// Urgent work delays a turn for a limited time, and a turn ends by itself.
func TestTurnsAreBounded(t *testing.T) {
	turns := NewTurns(time.Millisecond, time.Millisecond)
	defer turns.Urgent()()
	await(t, took(t, turns), "the first")
	await(t, took(t, turns), "the second")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	NewTurns(never, never).Wait(ctx)()
}
