package cache

import (
	"context"
	"fmt"
	"testing"
	"time"

	"triplane.dev/generic/storage"
)

func TestTapReturnsAllChanges(t *testing.T) {
	h := &Multiplexer{feed: &feed{}}
	tap := h.Tap(nil)
	for i := range 3 {
		for _, each := range h.taps {
			each.add([]storage.Change{{Key: fmt.Sprint(i), Value: []byte("v"), Revision: int64(i), Previous: []byte("p")}})
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	changes, lost, err := tap.Next(ctx)
	if err != nil || lost || len(changes) != 3 || changes[2].Key != "2" || changes[0].Previous != nil {
		t.Errorf("%v %v %v", changes, lost, err)
	}
	tap.Stop()
	tap.Stop()
	if len(h.taps) != 0 {
		t.Error("the tap goes on")
	}
	cancel()
	if _, _, err := tap.Next(ctx); err == nil {
		t.Error("Next returned without a change")
	}
}

func TestTapIsBounded(t *testing.T) {
	tap := (&Multiplexer{feed: &feed{}}).Tap(nil)
	big := []storage.Change{{Key: "k", Value: make([]byte, 1<<20)}}
	for range 2 * tapLimit >> 20 {
		tap.add(big)
	}
	if tap.bytes > tapLimit {
		t.Errorf("%d bytes wait", tap.bytes)
	}
	_, lost, err := tap.Next(t.Context())
	if err != nil || !lost {
		t.Errorf("nothing was lost: %v", err)
	}
	tap.markLost()
	if _, lost, _ = tap.Next(t.Context()); !lost {
		t.Error("the reset is not reported")
	}
}
