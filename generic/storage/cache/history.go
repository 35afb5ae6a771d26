package cache

import (
	"sort"
	"time"

	"triplane/generic/storage"
)

const (
	historyMin   = 100
	historyMax   = 100_000
	historyBytes = 64 << 20
	// historyFresh is how long events are kept if there is room for them.
	historyFresh = 75 * time.Second
	// historyStale is after how long events are dropped although there is room.
	historyStale = 5 * time.Minute
)

// history is a ring of the latest events. All events after the revision from are
// in it. It grows while its events are fresh.
type history struct {
	ring  []*event
	first int
	count int
	bytes int
	from  int64
	// pinned keeps everything while a cache is filled from a list that the
	// events will be put on top of.
	pinned bool
}

func (h *history) at(i int) *event { return h.ring[(h.first+i)%len(h.ring)] }

func (h *history) reset(from int64) { *h = history{from: from, pinned: h.pinned} }

func (h *history) add(e *event) {
	if !h.pinned {
		for h.count > 0 && h.bytes+e.size() > historyBytes {
			h.dropFirst()
		}
	}
	if h.count == len(h.ring) {
		h.makeRoom(e.at)
	}
	h.ring[(h.first+h.count)%len(h.ring)] = e
	h.count++
	h.bytes += e.size()
}

// fadeAfter is for how many events the encoded forms of a replaced record stay:
// watches that are that far behind have them encoded anew.
const fadeAfter = 256

// fade releases the forms of the record that was replaced fadeAfter events ago.
// What is kept of history are then the bytes of storage alone.
func (h *history) fade() {
	if h.count <= fadeAfter {
		return
	}
	if replaced := h.at(h.count - 1 - fadeAfter).previous; replaced != nil {
		replaced.ReleaseForms()
	}
}

// makeRoom grows a full ring if its oldest event is fresh, and drops that one
// otherwise.
func (h *history) makeRoom(now int64) {
	full := len(h.ring)
	fresh := full == 0 || now-h.at(0).at < int64(historyFresh)
	if !h.pinned && (full >= historyMax || !fresh) {
		h.dropFirst()
		return
	}
	size := max(2*full, historyMin)
	if !h.pinned {
		size = min(size, historyMax)
	}
	h.resize(size)
}

func (h *history) resize(size int) {
	ring := make([]*event, size)
	for i := range h.count {
		ring[i] = h.at(i)
	}
	h.ring, h.first = ring, 0
}

func (h *history) dropFirst() {
	e := h.at(0)
	h.from = e.Revision
	h.bytes -= e.size()
	h.ring[h.first] = nil
	h.first = (h.first + 1) % len(h.ring)
	h.count--
}

// trim drops stale events and gives back room that is not used.
func (h *history) trim(now int64) {
	if h.pinned {
		return
	}
	for h.count > historyMin && now-h.at(0).at > int64(historyStale) {
		h.dropFirst()
	}
	if size := max(historyMin, 2*h.count); len(h.ring) > 2*size {
		h.resize(size)
	}
}

// after returns the index of the first event behind a revision, or a
// *storage.TooOldError when some of those are gone.
func (h *history) after(revision int64) (int, error) {
	if revision < h.from {
		return 0, &storage.TooOldError{Requested: revision, Oldest: h.from}
	}
	return sort.Search(h.count, func(i int) bool { return h.at(i).Revision > revision }), nil
}
