package raftlog

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.uber.org/zap/zapcore"
)

// Messages of etcd's log. It logs Applying, for debugging, before it applies entries, in the goroutine that later
// compacts the log in memory. That goroutine logs the others, too.
const (
	Applying  = "Applying entries"
	compacted = "compacted Raft logs"
	saved     = "saved snapshot to disk"
	received  = "applied snapshot"
)

// indexKey returns the key of the index in the fields of a message, "" if Log does not process the message.
func indexKey(message string) string {
	switch message {
	case compacted:
		return "compact-index"
	case saved:
		return "snapshot-index"
	case received:
		return "incoming-leader-snapshot-index"
	}
	return ""
}

const (
	// Limit is the default for the limit of a log in bytes.
	Limit = 192 << 20
	// FollowersEntries limits the entries for followers. A follower that lacks older entries, after a stop or a
	// partition, receives the whole database.
	FollowersEntries = 5000
	// leastEntries are kept of any size.
	leastEntries = 16
	// entryOverhead estimates the memory of a log entry without its key and value.
	entryOverhead = 300
	// markEntries are the entries between two marks.
	markEntries = FollowersEntries / 16
)

// Log limits the memory of raft's log. A nil Log does nothing. Its methods are safe for concurrent use, after Of.
type Log struct {
	server *etcdserver.EtcdServer
	// snapshotCount is the configured number of entries between two snapshots.
	snapshotCount uint64
	limit         int64
	// started is set at the end of the start. Before, all entries must be kept.
	started atomic.Bool
	// bytes is the total size of all writes since the start, except those up to the revision counted, which were
	// received with the leader's database.
	bytes, counted atomic.Int64

	mu sync.Mutex
	// marks are earlier ends of the log, oldest first. The first one is where the kept entries begin.
	marks []end
	// saved is the end of the log at the last snapshot.
	saved end

	pace   pace
	leader report
}

// end is an end of the log: the index of the last entry, and the size of all entries since the start.
type end struct {
	index uint64
	bytes int64
}

// New returns a log whose entries are limited to limit bytes, 0 for Limit.
func New(limit int64) *Log {
	limit = cmp.Or(limit, Limit)
	return &Log{limit: limit, leader: report{limit: limit}}
}

// followers are the bytes of entries that are kept for followers.
func (l *Log) followers() int64 { return l.limit / 3 }

// saveEvery are the bytes of entries after which etcd takes a snapshot, which compacts the log. It also does so every
// 100 entries.
func (l *Log) saveEvery() int64 { return l.limit / 8 }

// markEvery are the bytes between two marks.
func (l *Log) markEvery() int64 { return l.limit / 64 }

// large are the bytes of a log from which on writes are delayed: more than is kept ordinarily.
func large(limit int64) int64 { return limit / 8 * 5 }

// Of sets the server of the log, before the server starts. fetch returns the Kept of the leader.
func (l *Log) Of(server *etcdserver.EtcdServer, fetch func(context.Context) (int64, error)) {
	if l != nil {
		l.server, l.snapshotCount, l.leader.fetch = server, server.Cfg.SnapshotCount, fetch
	}
}

// Begin enables compaction.
func (l *Log) Begin() {
	if l != nil {
		l.started.Store(true)
	}
}

// Count adds up the sizes of writes until ctx ends.
func (l *Log) Count(ctx context.Context) {
	ws := l.server.Watchable().NewWatchStream()
	defer ws.Close()
	if _, err := ws.Watch(context.Background(), clientv3.AutoWatchID, []byte{0}, []byte{}, 0); err != nil {
		return // does not happen for a new stream
	}
	for {
		select {
		case <-ctx.Done():
			return
		case resp, ok := <-ws.Chan():
			if !ok {
				return
			}
			if resp.CompactRevision != 0 { // of the leader's database, which ends the watch
				_, _ = ws.Watch(context.Background(), clientv3.AutoWatchID, []byte{0}, []byte{}, 0) // as above
			}
			n, counted := 0, l.counted.Load()
			for _, e := range resp.Events {
				if e.Kv.ModRevision > counted {
					n += len(e.Kv.Key) + len(e.Kv.Value) + entryOverhead
				}
			}
			l.bytes.Add(int64(n))
		}
	}
}

// Check processes a message that etcd is about to log. It reports whether Write needs its fields.
func (l *Log) Check(message string) bool {
	if l == nil {
		return false
	}
	if message == Applying && l.started.Load() {
		l.trim()
	}
	return indexKey(message) != ""
}

// Write processes a message with its fields.
func (l *Log) Write(message string, fields []zapcore.Field) {
	key := indexKey(message)
	if l == nil || key == "" {
		return
	}
	for _, f := range fields {
		if f.Key == key {
			l.note(message, uint64(f.Integer))
		}
	}
}

// note processes a message with its index.
func (l *Log) note(message string, index uint64) {
	if message == received {
		l.counted.Store(l.server.KV().Rev())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := end{index, l.bytes.Load()}
	switch message {
	case compacted:
		l.dropMarks(index)
	case saved:
		l.saved = now
	case received: // the log begins after it
		l.saved, l.marks = now, []end{now}
	}
}

// trim sets how many entries are kept, and when the next snapshot is taken. Only etcd's goroutine that applies
// entries calls it, which also reads these settings.
func (l *Log) trim() {
	now := end{l.server.AppliedIndex(), l.bytes.Load()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark(now)
	l.server.Cfg.SnapshotCatchUpEntries = l.keep(now)
	l.server.Cfg.SnapshotCount = l.snapshotCount
	if now.bytes-l.saved.bytes >= l.saveEvery() {
		l.server.Cfg.SnapshotCount = 0
	}
}

// mark notes an end of the log if it is far enough from the previous one. The caller holds mu.
func (l *Log) mark(now end) {
	n := len(l.marks)
	if n == 0 || now.bytes-l.marks[n-1].bytes >= l.markEvery() || now.index-l.marks[n-1].index >= markEntries {
		l.marks = append(l.marks, now)
	}
}

// keep returns how many entries are kept, so that their size is that of followers or a little more. The caller holds
// mu.
func (l *Log) keep(now end) uint64 {
	for i := len(l.marks) - 1; i >= 0; i-- {
		if m := l.marks[i]; now.bytes-m.bytes >= l.followers() {
			return min(max(now.index-m.index, leastEntries), FollowersEntries)
		}
	}
	return FollowersEntries
}

// dropMarks drops the marks before the one at which the entries that follow an index begin. The caller holds mu.
func (l *Log) dropMarks(index uint64) {
	for len(l.marks) > 1 && l.marks[1].index <= index {
		l.marks = l.marks[1:]
	}
}

// own returns the bytes of the entries that this member keeps.
func (l *Log) own() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.marks) == 0 {
		return l.bytes.Load()
	}
	return l.bytes.Load() - l.marks[0].bytes
}

// Kept returns the bytes of the entries that this member and the leader keep: the larger number of both, roughly.
func (l *Log) Kept() int64 {
	if l == nil {
		return 0
	}
	if l.server.Leader() == l.server.MemberID() {
		return l.own()
	}
	return max(l.own(), l.leader.estimate(l.bytes.Load(), time.Now()))
}
