package cache

import (
	"sort"
	"time"

	"triplane.dev/generic/storage"
)

const (
	historyMin   = 100
	historyMax   = 100_000
	historyBytes = 64 << 20
	// historyFresh is how long events are kept at least, up to the maximum size.
	historyFresh = 75 * time.Second
	// historyStale is how long events are kept at most.
	historyStale = 5 * time.Minute
)

// history is a ring of the latest events. It has all events after the revision from. It grows while its oldest
// event is fresh.
type history struct {
	ring  []*event
	first int
	count int
	bytes int
	from  int64
	// pinned prevents the removal of events during a fill, which needs them.
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

// releaseAfter is the number of events after which the forms of a replaced record are released. Watches that
// are further behind encode them again.
const releaseAfter = 256

// releaseReplaced releases the forms of the record that was replaced releaseAfter events ago, so that older
// events only hold stored bytes.
func (h *history) releaseReplaced() {
	if h.count <= releaseAfter {
		return
	}
	if replaced := h.at(h.count - 1 - releaseAfter).previous; replaced != nil {
		replaced.ReleaseForms()
	}
}

// makeRoom grows a full ring if its oldest event is fresh. Otherwise it drops that event.
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

// trim drops stale events and shrinks the ring.
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

// after returns the index of the first event after a revision, or a *storage.TooOldError if an event after it
// was dropped.
func (h *history) after(revision int64) (int, error) {
	if revision < h.from {
		return 0, &storage.TooOldError{Requested: revision, Oldest: h.from}
	}
	return sort.Search(h.count, func(i int) bool { return h.at(i).Revision > revision }), nil
}
