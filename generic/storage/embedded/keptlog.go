package embedded

import (
	"context"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"
)

// applying is etcd's debug message before it applies entries. It is logged in the goroutine that later trims
// the log in memory.
const applying = "Applying entries"

const (
	// entryOverhead estimates the memory of a log entry without its key and value.
	entryOverhead = 300
	// markEvery and markEntries are the bytes and the entries between two marks.
	markEvery, markEntries = followersBytes / 16, followersEntries / 16
)

// keptLog limits the memory of raft's log for followers. etcd limits the number of entries by a setting that it
// reads on each trim. keptLog adapts this setting to the sizes of the entries.
type keptLog struct {
	server *etcdserver.EtcdServer
	// started is set at the end of the start. Before, all entries must be kept.
	started atomic.Bool
	// bytes is the total size of all writes since the start.
	bytes atomic.Int64
	// marks are earlier ends of the log, oldest first. Only trim uses them, which etcd's goroutine calls.
	marks []logEnd
}

type logEnd struct {
	index uint64
	bytes int64
}

// of sets the server of the log, before the server starts. It does nothing on nil.
func (k *keptLog) of(server *etcdserver.EtcdServer) {
	if k != nil {
		k.server = server
	}
}

// begin enables trimming. It does nothing on nil.
func (k *keptLog) begin() {
	if k != nil {
		k.started.Store(true)
	}
}

// count adds up the sizes of writes until ctx ends.
func (k *keptLog) count(ctx context.Context) {
	ws := k.server.Watchable().NewWatchStream()
	defer ws.Close()
	if _, err := ws.Watch(clientv3.AutoWatchID, []byte{0}, []byte{}, 0); err != nil {
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
			n := 0
			for i := range resp.Events {
				n += len(resp.Events[i].Kv.Key) + len(resp.Events[i].Kv.Value) + entryOverhead
			}
			k.bytes.Add(int64(n))
		}
	}
}

// trim sets how many entries are kept. Only etcd's goroutine that applies entries calls it, which also reads
// the setting.
func (k *keptLog) trim() {
	if k.started.Load() {
		k.server.Cfg.SnapshotCatchUpEntries = k.keep(logEnd{k.server.AppliedIndex(), k.bytes.Load()})
	}
}

// keep returns how many entries before end are kept, so that their size is followersBytes or a little more.
func (k *keptLog) keep(end logEnd) uint64 {
	if n := len(k.marks); n == 0 || end.bytes-k.marks[n-1].bytes >= markEvery ||
		end.index-k.marks[n-1].index >= markEntries {
		k.marks = append(k.marks, end)
	}
	for len(k.marks) > 1 && (end.bytes-k.marks[1].bytes >= followersBytes ||
		end.index-k.marks[1].index >= followersEntries) {
		k.marks = k.marks[1:]
	}
	if first := k.marks[0]; end.bytes-first.bytes >= followersBytes {
		return min(max(end.index-first.index, keptEntries), followersEntries)
	}
	return followersEntries
}
