package embedded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/durable"
	"triplane.dev/internal/platform"
)

const (
	// checkInterval is the interval of checks if no write is rejected.
	checkInterval = 30 * time.Second
	// retryAfter is the minimum time between attempts to free space.
	retryAfter = 5 * time.Second
	// reserve is the free disk space that a write needs: the next file of the log allocates 64 MB, and a full
	// disk is fatal for etcd.
	reserve = 80 << 20
	// defragmentFrom is the minimum size of a file for defragmentation.
	defragmentFrom = 64 << 20
	// diskEvery is how long plenty of disk space is assumed after a check. It is not longer than a write takes,
	// because other processes may allocate gigabytes at once.
	diskEvery, plenty = time.Millisecond, 1 << 30
	// putOverhead estimates the bytes of a put in addition to its key and value.
	putOverhead = 256
)

// space manages the space of the database file.
//
// It replaces etcd's quota, which limits the size of the file. The file never shrinks without defragmentation,
// and exceeding the quota raises a permanent alarm, which even blocks compaction, because API servers
// coordinate that through a key. Here free pages of the file count as space, writes that do not fit are
// rejected before they reach the log, and there is no alarm. When nine tenths are used, or a write was
// rejected, the history is compacted. A file of which more than half is free is defragmented.
type space struct {
	server *etcdserver.EtcdServer
	gate   *gate
	quota  int64
	// rewrite enables defragmentation.
	rewrite bool
	snap    string        // directory of the database file
	wake    chan struct{} // receives after a write was rejected

	refused, defragmented atomic.Int64 // counters

	// The backend updates its count of used bytes on commit, ten times a second. admitted are the bytes that
	// were admitted since its last update.
	mu              sync.Mutex
	known, admitted int64
	nextDiskCheck   time.Time // while there is plenty of space

	// Only keep uses the following fields.
	attempted time.Time
	seen      int64 // revision up to which the history is compacted
	warned    bool

	warnedDiskFull bool
}

func newSpace(server *etcdserver.EtcdServer, gate *gate, cfg Config) *space {
	return &space{server: server, gate: gate, quota: cfg.QuotaBytes, rewrite: !cfg.KeepFragmented,
		snap: filepath.Join(cfg.Dir, "member", "snap"), wake: make(chan struct{}, 1)}
}

// usage returns the size of the file and its used bytes.
func (s *space) usage() (size, used int64) {
	if !s.gate.enter() {
		return 0, 0
	}
	defer s.gate.leave()
	b := s.server.Backend()
	return b.Size(), b.SizeInUse()
}

// admit returns an error if there is no space for a transaction.
func (s *space) admit(r *pb.TxnRequest) error {
	if cost := putBytes(r); cost == 0 || s.take(cost) {
		return nil
	}
	s.refused.Add(1)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return storage.ErrNoSpace
}

// putBytes returns the bytes that the puts of a transaction take.
func putBytes(r *pb.TxnRequest) (n int64) {
	for _, op := range r.Success {
		if put := op.GetRequestPut(); put != nil {
			n += int64(len(put.Key)+len(put.Value)) + putOverhead
		}
	}
	return n
}

// take reports whether there is space for cost bytes, and if so adds them to admitted.
func (s *space) take(cost int64) bool {
	_, used := s.usage()
	s.mu.Lock()
	defer s.mu.Unlock()
	if used != s.known {
		s.known, s.admitted = used, 0
	}
	if used+s.admitted+cost > s.quota || !s.diskHasRoom() {
		return false
	}
	s.admitted += cost
	return true
}

// diskHasRoom reports whether the disk has the reserve. The caller holds s.mu.
func (s *space) diskHasRoom() bool {
	now := time.Now()
	if now.Before(s.nextDiskCheck) {
		return true
	}
	free := diskFree(s.snap)
	if free > reserve+plenty {
		s.nextDiskCheck = now.Add(diskEvery)
	}
	return free >= reserve
}

// diskFree returns the free bytes of the file system of a directory.
func diskFree(dir string) uint64 {
	free, err := platform.FreeSpace(dir)
	if err != nil {
		return reserve // unknown: etcd fails if there is none
	}
	return free
}

// keep checks the space periodically until ctx ends.
func (s *space) keep(ctx context.Context) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.wake:
			if wait := retryAfter - time.Since(s.attempted); wait > 0 {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
			}
		}
		if err := s.check(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrStopped) {
			klog.ErrorS(err, "Failed to free space in the embedded etcd, retrying")
		}
	}
}

// check compacts the history if space is scarce, and defragments the file if it is mostly free.
func (s *space) check(ctx context.Context) error {
	size, used := s.usage()
	if used > s.quota/10*9 {
		if err := s.dropHistory(ctx); err != nil {
			return err
		}
		size, used = s.usage()
	}
	s.warn(used)
	s.warnDiskFull()
	if s.rewrite && size > defragmentFrom && used < size/2 || size > s.quota && used < size/10*9 {
		return s.defragment()
	}
	return nil
}

// warn logs once when four fifths are used.
func (s *space) warn(used int64) {
	scarce := used > s.quota/5*4
	if scarce && !s.warned {
		klog.InfoS("The embedded etcd is almost full: delete objects, or raise --embedded-etcd-quota-bytes", "used", used,
			"quota", s.quota)
	}
	s.warned = scarce
}

// warnDiskFull logs once when the disk is full.
func (s *space) warnDiskFull() {
	free := diskFree(s.snap)
	if free < reserve && !s.warnedDiskFull {
		klog.InfoS("The disk of the embedded etcd is full: rejecting writes, reads and deletions succeed", "directory",
			s.snap, "free", free, "reserved", reserve)
	}
	s.warnedDiskFull = free < reserve
}

// dropHistory compacts to the current revision. Clients must then restart paginated lists.
func (s *space) dropHistory(ctx context.Context) error {
	if !s.gate.enter() {
		return storage.ErrStopped
	}
	revision := current(s.server)
	s.gate.leave()
	if revision == s.seen {
		return nil // there were no writes since
	}
	s.attempted = time.Now()
	_, err := s.server.Compact(ctx, &pb.CompactionRequest{Revision: revision, Physical: true})
	if err = translate(err); err != nil && !errors.Is(err, storage.ErrCompacted) {
		return fmt.Errorf("compaction to %d: %w", revision, err)
	}
	s.seen = revision
	if !s.gate.enter() {
		return storage.ErrStopped
	}
	defer s.gate.leave()
	s.releasePages()
	klog.InfoS("Compacted the embedded etcd's history to free space", "revision", revision, "used",
		s.server.Backend().SizeInUse(), "quota", s.quota)
	return nil
}

// releasePages updates the count of free pages after a compaction. The database does this in the next
// transaction, but there is none while all writes are rejected.
func (s *space) releasePages() {
	nothing := []byte{0} // not a revision, so no entry has this key
	for range 2 {
		tx := s.server.Backend().BatchTx()
		tx.LockOutsideApply()
		tx.UnsafeDelete(schema.Key, nothing)
		tx.Unlock()
		s.server.Backend().ForceCommit()
	}
}

// defragment defragments the file. It blocks reads and writes for about a second per some hundred megabytes.
func (s *space) defragment() error {
	if !s.gate.enter() {
		return storage.ErrStopped
	}
	defer s.gate.leave()
	began, b := time.Now(), s.server.Backend()
	before := b.Size()
	if err := b.Defrag(); err != nil {
		return fmt.Errorf("defragmentation: %w", err)
	}
	s.defragmented.Add(1)
	if err := durable.Sync(s.snap); err != nil {
		return fmt.Errorf("defragmentation: %w", err)
	}
	klog.InfoS("Defragmented the database of the embedded etcd", "before", before, "after", b.Size(), "took",
		time.Since(began))
	return nil
}

// clearAlarm disarms an alarm that another program has raised on this store. admit replaces it.
func (s *space) clearAlarm(ctx context.Context) error {
	for _, alarm := range s.server.Alarms() {
		if alarm.Alarm != pb.AlarmType_NOSPACE {
			continue
		}
		if _, err := s.server.Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: alarm.MemberID,
			Alarm: alarm.Alarm}); err != nil {
			return fmt.Errorf("ending the alarm about its space: %w", err)
		}
	}
	return nil
}

// Collectors returns the metrics of the space.
func (s *Server) Collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value()) })
	}
	counter := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return float64(value()) })
	}
	space := s.backend.space
	return []prometheus.Collector{
		gauge("triplane_embedded_etcd_quota_bytes", "Limit for the used bytes of the embedded etcd's database file.",
			func() int64 { return space.quota }),
		gauge("triplane_embedded_etcd_used_bytes", "Used bytes of the embedded etcd's database file.", func() int64 {
			_, used := space.usage()
			return used
		}),
		gauge("triplane_embedded_etcd_stored_minor_release",
			"Minor release of etcd 3 whose programs can open the data directory; 0 if it is not known yet.", s.storedMinor),
		counter("triplane_embedded_etcd_refused_writes_total",
			"Writes that were rejected because the embedded etcd had no space.", space.refused.Load),
		gauge("triplane_embedded_etcd_log_bytes",
			"Bytes of the applied entries of raft's log that this member of a cluster keeps in memory, or its leader if that "+
				"keeps more.", s.log.Kept),
		gauge("triplane_embedded_etcd_log_limit_bytes",
			"Limit for the bytes of raft's log, near which writes are delayed; 0 for a single member.", s.log.Limit),
		counter("triplane_embedded_etcd_delayed_writes_total",
			"Writes that were delayed because raft's log was large, while a member was catching up.", s.log.Delayed),
		counter("triplane_embedded_etcd_defragmentations_total", "Defragmentations of the embedded etcd's database file.",
			space.defragmented.Load),
	}
}
