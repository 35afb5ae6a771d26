package raftlog

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
)

// Path is where members report the size of their log to others.
const Path = "/triplane/raftlog"

const (
	// staleAfter is the age from which on the size of the leader's log is fetched again, while writes are delayed.
	staleAfter = time.Second
	// fetchWithin limits a fetch.
	fetchWithin = time.Second
	// reportBytes limits the response.
	reportBytes = 32
)

// report is the size of the leader's log, as it has reported it.
type report struct {
	fetch func(context.Context) (int64, error)
	limit int64

	mu       sync.Mutex
	fetching bool
	kept     int64     // reported
	written  int64     // Log.bytes at that time
	at       time.Time // the time
}

// estimate returns the bytes of the leader's log, given the bytes that this member has written. It fetches them in
// the background if they may have changed much.
func (r *report) estimate(written int64, now time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	few := r.limit / 32 // bytes after which the report is fetched again
	kept := r.kept + min(written-r.written, few)
	stale := written-r.written >= few || kept >= large(r.limit) && now.Sub(r.at) >= staleAfter
	if stale && !r.fetching && r.fetch != nil {
		r.fetching = true
		worker.Go(func() { r.refresh(written) })
	}
	return kept
}

// refresh fetches the report. A leader that does not have one, of an earlier version, counts as one that keeps nothing.
func (r *report) refresh(written int64) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchWithin)
	defer cancel()
	kept, err := r.fetch(ctx)
	if err != nil {
		klog.V(2).InfoS("Failed to read the size of the log of the embedded etcd's leader", "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetching, r.kept, r.written, r.at = false, kept, written, time.Now()
}

// ServeHTTP reports the bytes of the log to other members.
func (l *Log) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, strconv.FormatInt(l.own(), 10)) // the member may be gone
}

// Fetch reads the report of a member at a URL.
func Fetch(ctx context.Context, client http.RoundTripper, url string) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+Path, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(resp.Body, reportBytes))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(text), 10, 64)
}
