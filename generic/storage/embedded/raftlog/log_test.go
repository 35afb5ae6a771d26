package raftlog

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"triplane.dev/generic/storage"
)

// The log for followers is limited by entries and by bytes. A few entries of any size are always kept.
func TestLogIsBounded(t *testing.T) {
	for _, test := range []struct {
		size  int64
		least uint64
		most  uint64
	}{
		{100, FollowersEntries, FollowersEntries},
		{50_000, Limit / 3 / 50_000, Limit/3/50_000 + Limit/64/50_000 + 2},
		{900_000, Limit / 3 / 900_000, Limit/3/900_000 + Limit/64/900_000 + 2},
		{10 << 20, leastEntries, leastEntries},
	} {
		l, now, kept := New(0), end{}, uint64(0)
		entries := func(n int, size int64) {
			for range n {
				now.index++
				now.bytes += size
				l.mark(now)
				if kept = l.keep(now); now.index > kept {
					l.Write(compacted, []zapcore.Field{zap.Uint64("compact-index", now.index-kept)})
				}
			}
			l.bytes.Store(now.bytes)
		}
		entries(20_000, test.size)
		if kept < test.least || kept > test.most {
			t.Errorf("%d entries of %d bytes are kept, want %d to %d", kept, test.size, test.least, test.most)
		}
		if len(l.marks) > 100 {
			t.Errorf("%d marks", len(l.marks))
		}
		if own, most := l.own(), int64(kept+markEntries)*test.size+Limit/64; own < int64(kept)*test.size || own > most {
			t.Errorf("%d entries of %d bytes are kept, and counted as %d bytes", kept, test.size, own)
		}
		entries(2*FollowersEntries, 100) // after which large ones are long past
		if kept != FollowersEntries {
			t.Errorf("%d small entries are kept after those of %d bytes", kept, test.size)
		}
	}
}

// Without compaction, delayed writes never take the log far beyond its limit, and small writes hardly wait.
func TestWritesAreDelayed(t *testing.T) {
	const size, minutes = 900_000, 5
	kept, now, longest := large(Limit), time.Duration(0), time.Duration(0)
	for now < minutes*time.Minute {
		took := time.Duration(size / rate(kept, Limit) * float64(time.Second))
		kept, now, longest = kept+size, now+took, max(longest, took)
	}
	if most := int64(Limit + minutes*60*Limit/1024); kept > most || longest > 5*time.Second {
		t.Errorf("after %v %d bytes are kept, %d at most; a write of %d waited for %v", now, kept, most, size, longest)
	}
	var p pace
	const wait = 100 * time.Millisecond // less than a large write takes
	for _, write := range []struct {
		bytes int64
		waits bool
	}{{1000, false}, {size, false}, {1000, false}, {size, true}, {smallBytes, false}} {
		at, err := p.reserve(t.Context(), write.bytes, rate(Limit/2, Limit))
		if err != nil || time.Until(at) > wait != write.waits {
			t.Errorf("a write of %d bytes waits for %v: %v", write.bytes, time.Until(at), err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := p.reserve(ctx, size, rate(Limit/2, Limit)); !errors.Is(err, storage.ErrNotWritten) {
		t.Errorf("a write whose deadline is too early: %v", err)
	}
	if n := p.delayed.Load(); n < 1 {
		t.Errorf("%d writes were delayed", n)
	}
}

// A member counts what it writes on top of what the leader has reported, and asks again after a while.
func TestReportOfTheLeader(t *testing.T) {
	leader := New(0)
	leader.bytes.Store(Limit - 1000)
	server := httptest.NewServer(leader)
	defer server.Close()
	fetched := make(chan struct{}, 10)
	r := report{limit: Limit, fetch: func(ctx context.Context) (int64, error) {
		defer func() { fetched <- struct{}{} }()
		return Fetch(ctx, http.DefaultTransport, server.URL)
	}}
	now := time.Now()
	if kept := r.estimate(1000, now); kept != 1000 || len(fetched) > 0 {
		t.Errorf("%d are kept before the first report", kept)
	}
	if kept := r.estimate(Limit, now); kept != Limit/32 { // most of which the leader has dropped long ago
		t.Errorf("%d are kept after many writes before the first report", kept)
	}
	<-fetched
	for deadline := now.Add(5 * time.Second); r.estimate(Limit, now) != Limit-1000; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d are kept after the report", r.estimate(Limit, now))
		}
	}
	if kept := r.estimate(Limit+500, now); kept != Limit-500 {
		t.Errorf("%d are kept after further writes", kept)
	}
	r.estimate(Limit+500, now.Add(2*staleAfter))
	<-fetched
	server.Config.Handler = http.NotFoundHandler() // a leader of an earlier version
	r.refresh(Limit)
	if kept := r.estimate(Limit, now); kept != 0 {
		t.Errorf("a leader without reports keeps %d", kept)
	}
}
