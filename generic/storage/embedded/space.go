package embedded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"triplane/generic/storage"
	"triplane/internal/durable"
	"triplane/internal/resident"
)

const (
	// lookEvery is how often the space is looked after when nobody is refused.
	lookEvery = 30 * time.Second
	// beginning is how long clients and caches read what they do at a start.
	beginning = 5 * time.Second
	// againAfter is how soon after an attempt to make room there is another one.
	againAfter = 5 * time.Second
	// reserve is what has to be free on the disk for a write: the next file of the log is as large as
	// 64 MB at once, and etcd takes a full disk for the end.
	reserve = 80 << 20
	// defragmentFrom is the size below which a file is not worth rewriting.
	defragmentFrom = 64 << 20
	// diskEvery is how often the disk is asked while it has plenty. It is no longer than a write takes:
	// others may allocate gigabytes at once, and what comes after that is refused.
	diskEvery, plenty = time.Millisecond, 1 << 30
	// putOverhead is what a key takes beside itself and its value, about.
	putOverhead = 256
)

// space is how much room there is, and how it is kept.
//
// Etcd's own quota looks at the size of its file, which never shrinks by itself, and what
// exceeds it raises an alarm that stays: even compaction is refused then, since API servers
// agree about it through a key. Here pages that are free in the file count as room, what
// does not fit is refused before it reaches the log, and there is no alarm. When nine tenths
// are in use, or somebody was refused, history is dropped; a file of which more than half is
// free is written anew.
type space struct {
	server *etcdserver.EtcdServer
	gate   *gate
	quota  int64
	// rewrite is whether files are written anew that are mostly free.
	rewrite bool
	// clustered is whether there may be other members.
	clustered bool
	snap      string        // the folder of the database file
	wake      chan struct{} // somebody was refused

	refused, rewritten atomic.Int64 // how often

	// The backend counts what is in use when it commits, ten times a second. Meanwhile what
	// was admitted since it last said something new counts, too.
	mu              sync.Mutex
	known, admitted int64
	askDisk         time.Time // not before, as it has plenty

	// Only keep uses these.
	attempted time.Time
	seen      int64 // the revision up to which there is no more to drop
	warned    bool

	warnedOfDisk bool
}

func newSpace(server *etcdserver.EtcdServer, gate *gate, cfg Config) *space {
	return &space{server: server, gate: gate, quota: cfg.QuotaBytes, rewrite: !cfg.KeepFragmented, clustered: cfg.Peer != nil, snap: filepath.Join(cfg.Dir, "member", "snap"), wake: make(chan struct{}, 1)}
}

// usage is the size of the file and what of it is in use, in bytes.
func (s *space) usage() (size, used int64) {
	if !s.gate.enter() {
		return 0, 0
	}
	defer s.gate.leave()
	b := s.server.Backend()
	return b.Size(), b.SizeInUse()
}

// admit refuses a transaction that there is no room for.
func (s *space) admit(r *pb.TxnRequest) error {
	cost := int64(0)
	for _, op := range r.Success {
		if put := op.GetRequestPut(); put != nil {
			cost += int64(len(put.Key)+len(put.Value)) + putOverhead
		}
	}
	if cost == 0 {
		return nil
	}
	if s.take(cost) {
		return nil
	}
	s.refused.Add(1)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return storage.ErrNoSpace
}

// take reports whether there is room for so many bytes, and counts them.
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

// diskHasRoom reports whether the disk has the reserve. The caller holds the mutex.
func (s *space) diskHasRoom() bool {
	now := time.Now()
	if now.Before(s.askDisk) {
		return true
	}
	free := diskFree(s.snap)
	if free > reserve+plenty {
		s.askDisk = now.Add(diskEvery)
	}
	return free >= reserve
}

// diskFree is how many bytes are free where a directory is.
func diskFree(dir string) uint64 {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return reserve // unknown: etcd will fail if there is none
	}
	return fs.Bavail * uint64(fs.Bsize)
}

// keep looks after the space until ctx ends.
func (s *space) keep(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	begun := time.After(beginning)
	for {
		select {
		case <-ctx.Done():
			return
		case <-begun:
			s.release()
			continue
		case <-ticker.C:
		case <-s.wake:
			if wait := againAfter - time.Since(s.attempted); wait > 0 {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
			}
		}
		if err := s.look(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrStopped) {
			klog.ErrorS(err, "Making room in the embedded etcd failed, it will be tried again")
		}
	}
}

// release gives back what the start has read of the file, which is all revisions. The file may be
// mapped anew meanwhile, as etcd does when it writes it anew or gets it from a leader.
func (s *space) release() {
	if err := resident.PageOut(s.server.Cfg.BackendPath()); err != nil {
		klog.V(2).InfoS("Pages of the embedded etcd's file stay mapped", "err", err)
	}
}

// look drops history where space gets scarce, and writes the file anew where it is mostly free.
func (s *space) look(ctx context.Context) error {
	size, used := s.usage()
	if used > s.quota/10*9 {
		if err := s.dropHistory(ctx); err != nil {
			return err
		}
		size, used = s.usage()
	}
	s.warn(used)
	s.warnOfDisk()
	if s.rewrite && size > defragmentFrom && used < size/2 || size > s.quota && used < size/10*9 {
		return s.defragment()
	}
	return nil
}

// warn says when four fifths are in use, once.
func (s *space) warn(used int64) {
	scarce := used > s.quota/5*4
	if scarce && !s.warned {
		klog.InfoS("The embedded etcd is almost full: delete objects, or raise --embedded-etcd-quota-bytes", "used", used, "quota", s.quota)
	}
	s.warned = scarce
}

// warnOfDisk says when the disk is full, once.
func (s *space) warnOfDisk() {
	free := diskFree(s.snap)
	if free < reserve && !s.warnedOfDisk {
		klog.InfoS("The disk of the embedded etcd is full: writes are refused, reads and deletions work", "directory", s.snap, "free", free, "reserved", reserve)
	}
	s.warnedOfDisk = free < reserve
}

// dropHistory compacts to the current revision. Lists that are continued begin anew then.
func (s *space) dropHistory(ctx context.Context) error {
	if !s.gate.enter() {
		return storage.ErrStopped
	}
	revision := current(s.server)
	s.gate.leave()
	if revision == s.seen {
		return nil // nothing was written or deleted since
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
	s.settle()
	klog.InfoS("The embedded etcd got scarce of space, its history was dropped", "revision", revision, "used", s.server.Backend().SizeInUse(), "quota", s.quota)
	return nil
}

// settle makes the pages free, and counted so, that a compaction has released: the database does
// so in the next transaction, and there is none while all writes are refused.
func (s *space) settle() {
	nothing := []byte{0} // no revision, as which keys are kept there
	for range 2 {
		tx := s.server.Backend().BatchTx()
		tx.LockOutsideApply()
		tx.UnsafeDelete(schema.Key, nothing)
		tx.Unlock()
		s.server.Backend().ForceCommit()
	}
}

// defragment writes the file anew. Nothing is read or written meanwhile: it takes a second for
// some hundred megabytes.
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
	s.rewritten.Add(1)
	if err := durable.Sync(s.snap); err != nil {
		return fmt.Errorf("defragmentation: %w", err)
	}
	klog.InfoS("The database of the embedded etcd was written anew", "before", before, "after", b.Size(), "took", time.Since(began))
	return nil
}

// silence ends the alarm that another program has raised on this directory: admit decides here.
func (s *space) silence(ctx context.Context) error {
	for _, alarm := range s.server.Alarms() {
		if alarm.Alarm != pb.AlarmType_NOSPACE {
			continue
		}
		if _, err := s.server.Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: alarm.MemberID, Alarm: alarm.Alarm}); err != nil {
			return fmt.Errorf("ending the alarm about its space: %w", err)
		}
	}
	return nil
}
