package cache

import (
	"errors"
	"testing"
	"time"

	"triplane.dev/generic/storage"
)

func eventAt(revision int64, at time.Duration, size int) *event {
	r := storage.NewRecord("", make([]byte, size), revision)
	return &event{Event: storage.Event{Record: r, Revision: revision}, at: int64(at)}
}

func TestHistoryGrowsWhileFresh(t *testing.T) {
	var h history
	for i := range int64(1000) {
		h.add(eventAt(i+1, time.Duration(i)*time.Millisecond, 1))
	}
	if h.count != 1000 || h.from != 0 {
		t.Errorf("kept %d events from %d, want all of them", h.count, h.from)
	}
	later := 2 * historyFresh
	room := len(h.ring)
	for i := int64(1000); i < 3000; i++ {
		h.add(eventAt(i+1, later, 1))
	}
	if h.count < room || h.from == 0 {
		t.Errorf("kept %d events from %d in %d places, want stale ones dropped", h.count, h.from, room)
	}
	if _, err := h.after(h.from - 1); !errors.As(err, new(*storage.TooOldError)) {
		t.Errorf("a revision before the history: %v", err)
	}
	for i, r := range []int64{h.from, h.from + 1, h.from + 50} {
		first, err := h.after(r)
		if err != nil || h.at(first).Revision != r+1 {
			t.Errorf("%d: behind %d comes %d, %v", i, r, h.at(first).Revision, err)
		}
	}
	h.trim(int64(later + 2*historyStale))
	if h.count != historyMin || len(h.ring) > 4*historyMin {
		t.Errorf("%d events in %d places are left after trimming", h.count, len(h.ring))
	}
}

func TestHistoryIsBoundedByBytes(t *testing.T) {
	var h history
	for i := range int64(100) {
		h.add(eventAt(i+1, 0, historyBytes/10))
	}
	if h.bytes > historyBytes || h.count > 10 {
		t.Errorf("kept %d events of %d bytes", h.count, h.bytes)
	}
}

func TestPinnedHistoryKeepsEverything(t *testing.T) {
	h := history{pinned: true}
	for i := range int64(20) {
		h.add(eventAt(i+1, 0, historyBytes/10))
	}
	if h.count != 20 || h.from != 0 {
		t.Errorf("kept %d events from %d", h.count, h.from)
	}
}

func TestHistoryReleasesFormsOfReplacedRecords(t *testing.T) {
	var h history
	encoded := 0
	encode := func(*storage.Record) ([]byte, error) { //nolint:unparam // the type of an encoder
		encoded++
		return []byte("form"), nil
	}
	get := func(r *storage.Record) {
		if _, err := r.Form(1, nil, encode); err != nil {
			t.Fatal(err)
		}
	}
	first := &storage.Record{Key: "a", Revision: 1}
	get(first)
	for i := range releaseAfter + 2 {
		e := &event{Event: storage.Event{Record: &storage.Record{Key: "a", Revision: int64(i + 2)}}}
		if i == 0 {
			e.previous = first
		}
		h.add(e)
		h.releaseReplaced()
		before := encoded
		get(first)
		if gone := encoded > before; gone != (i == releaseAfter) {
			t.Errorf("after %d events: released %v", i+1, gone)
		}
	}
}
