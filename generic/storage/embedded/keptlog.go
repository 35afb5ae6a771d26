package embedded

import (
	"context"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"
)

// applying is what etcd logs, for debugging, before it applies entries, in the goroutine that cuts the log in memory
// afterwards.
const applying = "Applying entries"

const (
	// entryOverhead is about what an entry of the log takes beside a key and its value.
	entryOverhead = 300
	// markEvery is after how many bytes, and after how many entries, the end of the log is noted.
	markEvery, markEntries = followersBytes / 16, followersEntries / 16
)

// keptLog bounds what raft's log takes in memory that is kept for followers. Etcd bounds the number of its
// entries, in a setting that it reads each time it cuts the log: it is adapted to their sizes.
type keptLog struct {
	server *etcdserver.EtcdServer
	// begun is set when the start is over, until which all entries have to be kept.
	begun atomic.Bool
	// bytes is of all that was written since the start.
	bytes atomic.Int64
	// marks are ends that the log had, the oldest first. Only trim, which etcd's goroutine calls, uses them.
	marks []logEnd
}

type logEnd struct {
	index uint64
	bytes int64
}

// of sets whose log it is, before the server starts; nil has none.
func (k *keptLog) of(server *etcdserver.EtcdServer) {
	if k != nil {
		k.server = server
	}
}

// begin has the log cut from now on; nil has none.
func (k *keptLog) begin() {
	if k != nil {
		k.begun.Store(true)
	}
}

// count adds up what is written, until ctx ends.
func (k *keptLog) count(ctx context.Context) {
	ws := k.server.Watchable().NewWatchStream()
	defer ws.Close()
	if _, err := ws.Watch(clientv3.AutoWatchID, []byte{0}, []byte{}, 0); err != nil {
		return // there is no such error of a new stream
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

// trim sets how many entries are kept. Only etcd's goroutine that applies entries calls it, which reads the setting.
func (k *keptLog) trim() {
	if k.begun.Load() {
		k.server.Cfg.SnapshotCatchUpEntries = k.keep(logEnd{k.server.AppliedIndex(), k.bytes.Load()})
	}
}

// keep returns how many entries before an end of the log are kept: so many that they have followersBytes, or
// a little more.
func (k *keptLog) keep(end logEnd) uint64 {
	if n := len(k.marks); n == 0 || end.bytes-k.marks[n-1].bytes >= markEvery || end.index-k.marks[n-1].index >= markEntries {
		k.marks = append(k.marks, end)
	}
	for len(k.marks) > 1 && (end.bytes-k.marks[1].bytes >= followersBytes || end.index-k.marks[1].index >= followersEntries) {
		k.marks = k.marks[1:]
	}
	if first := k.marks[0]; end.bytes-first.bytes >= followersBytes {
		return min(max(end.index-first.index, keptEntries), followersEntries)
	}
	return followersEntries
}
