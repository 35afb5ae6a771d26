package embedded

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver"
	"k8s.io/klog/v2"

	"triplane.dev/internal/resident"
)

const (
	// startPeriod is how long clients and caches read at the start.
	startPeriod = 5 * time.Second
	// mappedMax is how many bytes of mapped files, the executable among them, may be resident.
	mappedMax = 192 << 20
	// mappedInterval is the interval of checks of mappedMax.
	mappedInterval = 2 * time.Second
)

// pages releases the memory of the database file's mapped pages. Reads and writes touch them, so that they otherwise
// grow up to the size of the file with all its revisions. They stay in the kernel's cache.
type pages struct {
	server *etcdserver.EtcdServer
	gate   *gate
	limit  int64 // of the resident bytes of mapped files
}

// keep releases the pages once after the start, which reads all of them, and then each time that too many are resident.
// It returns when ctx ends.
func (p *pages) keep(ctx context.Context) {
	ticker := time.NewTicker(mappedInterval)
	defer ticker.Stop()
	started := time.After(startPeriod)
	for {
		select {
		case <-ctx.Done():
			return
		case <-started:
			p.release()
		case <-ticker.C:
			p.check()
		}
	}
}

// check releases the pages if too many are resident. If pages of other files are, it waits for half of mappedMax more.
func (p *pages) check() {
	if resident.Files() <= p.limit {
		return
	}
	p.release()
	p.limit = max(mappedMax, resident.Files()+mappedMax/2)
}

// release releases the pages. While a snapshot is open, the file stays mapped where it is.
func (p *pages) release() {
	if !p.gate.enter() {
		return
	}
	defer p.gate.leave()
	snapshot := p.server.Backend().Snapshot()
	if err := errors.Join(resident.Unmap(p.server.Cfg.BackendPath()), snapshot.Close()); err != nil {
		klog.V(2).InfoS("Failed to release the mapped pages of the embedded etcd's file", "err", err)
	}
}
