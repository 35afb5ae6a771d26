package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage/embedded/database"
	"triplane.dev/generic/storage/embedded/raftlog"
	"triplane.dev/internal/durable"
	"triplane.dev/internal/worker"
)

// startTimeout limits the replay of the log in Start.
const startTimeout = time.Minute

// Server is a running etcd member.
type Server struct {
	etcd      *etcdserver.EtcdServer
	lock      *fileutil.LockedFile
	backend   *Backend
	gate      *gate
	rpc       *grpc.Server // nil before Serve
	peers     *peers       // nil for a single member
	failure   *failure
	logStatus *logStatus
	reach     *reach       // nil for a single member
	log       *raftlog.Log // nil for a single member
	members   *agreement
	// clustered is whether there may be other members.
	clustered bool
	// stored is the log index up to which the database had entries at the start.
	stored  uint64
	done    chan struct{}
	closing sync.Once
	// background has the goroutines that end with etcd.
	background worker.Group
}

// Start opens or creates the data directory and returns when the member serves. ctx limits the start only.
// Close stops the server.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg.complete()
	if cfg.Dir == "" {
		return nil, errors.New("embedded etcd: no data directory given")
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{lock: lock, gate: &gate{}, failure: newFailure(), logStatus: &logStatus{}, clustered: cfg.Peer != nil,
		done: make(chan struct{})}
	if s.clustered {
		s.reach, s.log = newReach(), raftlog.New(cfg.logLimit)
	}
	alone, err := s.open(ctx, cfg)
	if err != nil {
		_ = errors.Join(s.peers.close(), lock.Close()) // err is the cause
		return nil, fmt.Errorf("embedded etcd in %s: %w", cfg.Dir, err)
	}
	s.log.Of(s.etcd, s.leaderLog)
	s.etcd.Start()
	s.members = &agreement{server: s.etcd, reach: s.reach}
	if s.clustered {
		s.peers.serve(s.etcd, s.log)
	}
	worker.Go(s.follow)
	if s.clustered {
		s.members.renew()
		s.whileOpen(s.followLeader)
		s.whileOpen(s.replaceLeaders)
		s.whileOpen(s.log.Count)
	}
	if cfg.Release != "" {
		s.whileOpen(func(ctx context.Context) { s.keepRelease(ctx, cfg.Release) })
	}
	space := newSpace(s.etcd, s.gate, cfg)
	if err := errors.Join(s.begin(ctx, space, alone, cfg), syncNames(cfg.Dir)); err != nil {
		_ = s.Close() // err is the cause
		return nil, fmt.Errorf("embedded etcd in %s: %w", cfg.Dir, err)
	}
	s.backend = newBackend(s, space, cfg.Leases)
	return s, nil
}

// open opens the directory. isAlone is set for a single member.
func (s *Server) open(ctx context.Context, cfg Config) (isAlone bool, err error) {
	if err := checkRestored(cfg.Dir); err != nil {
		return false, err
	}
	if s.stored, err = database.Check(cfg.Dir); err != nil {
		return false, err
	}
	if cfg.Verify != nil {
		if err := cfg.Verify.logged(cfg.Dir); err != nil {
			return false, err
		}
	}
	if isAlone, err = alone(cfg); err != nil {
		return false, err
	}
	sc, err := serverConfig(cfg, isAlone, newLoggerOf(s.failure,
		klogCore{logged: s.logStatus, reach: s.reach, log: s.log, saved: func() { syncSnapshot(cfg.Dir) }}))
	if err != nil {
		return false, err
	}
	if s.peers, err = listenPeers(cfg.Peer); err != nil {
		return false, err
	}
	s.etcd, err = newServer(sc, s.failure)
	for began := time.Now(); err != nil && !sc.NewCluster && time.Since(began) < joinTimeout; {
		select {
		case <-time.After(joinInterval):
		case <-ctx.Done():
			return isAlone, errors.Join(err, ctx.Err())
		}
		s.etcd, err = newServer(sc, s.failure)
	}
	return isAlone, err
}

// A member that joins may contact one that does not know it yet. It retries at this interval for this time.
const (
	joinInterval = 200 * time.Millisecond
	joinTimeout  = 5 * time.Second
)

// syncNames syncs the directories of etcd's files, which etcd does only in part. It is called before the first
// write is acknowledged.
func syncNames(dir string) error {
	member := filepath.Join(dir, "member")
	return errors.Join(durable.Sync(filepath.Join(member, "snap")), durable.Sync(filepath.Join(member, "wal")),
		durable.Sync(member), durable.Sync(dir))
}

// begin returns when the member serves. If space is scarce, it first frees some.
func (s *Server) begin(ctx context.Context, space *space, alone bool, cfg Config) error {
	if cfg.Detached && !alone {
		return s.awaitApplied(ctx)
	}
	if err := s.join(ctx, alone, cfg.Peer); err != nil {
		return err
	}
	if err := space.clearAlarm(ctx); err != nil {
		return err
	}
	if err := space.check(ctx); err != nil {
		klog.ErrorS(err, "Failed to free space in the embedded etcd")
	}
	if !s.clustered {
		s.background.Go(s.dropReplayed)
	}
	return nil
}

// join returns when the member leads, if it is a single one, or has caught up with the others.
func (s *Server) join(ctx context.Context, alone bool, peer *Peer) error {
	if alone {
		leads, err := s.lead(ctx)
		if err != nil {
			return err
		}
		alone = leads
		if peer == nil {
			s.keepEntries(keptEntries)
		}
	}
	s.log.Begin()
	switch {
	case peer == nil && !alone:
		return fmt.Errorf("it belongs to a member of a cluster of several, which cannot run without --embedded-etcd-peer-listen: %s", s.listed())
	case peer == nil:
		return nil
	case !alone:
		if err := s.assemble(ctx, peer); err != nil {
			return err
		}
	}
	return s.moveTo(ctx, peer)
}

// Backend returns the server's key space. It can be used until Close.
func (s *Server) Backend() *Backend { return s.backend }

// Done is closed when the server has stopped, because of Close or of a failure.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns the error of a failure, or nil.
func (s *Server) Err() error {
	if err := s.failure.Err(); err != nil {
		return err
	}
	return s.logStatus.Err()
}

// follow closes done when etcd has stopped or failed. If etcd stops by itself, as a removed member does, it
// rejects reads before etcd closes its files.
func (s *Server) follow() {
	defer close(s.done)
	select {
	case <-s.etcd.StoppingNotify():
	case <-s.failure.failed:
		return
	}
	s.gate.close()
	select {
	case <-s.etcd.StopNotify():
	case <-s.failure.failed:
	}
}

// whileOpen runs f in the background. Its context ends when the server stops.
func (s *Server) whileOpen(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	worker.Go(func() {
		<-s.done
		cancel()
	})
	s.background.Go(func() {
		defer cancel()
		f(ctx)
	})
}

// Close stops the server, ends watches and unlocks the data directory. It may be called twice. It does not wait
// for a failed server, whose goroutines may hang.
func (s *Server) Close() error {
	var err error
	s.closing.Do(func() {
		stopped := make(chan struct{})
		worker.Go(func() {
			defer close(stopped)
			if s.rpc != nil {
				s.rpc.Stop()
			}
			s.gate.close()
			s.transferLeadership()
			s.etcd.HardStop()
			s.background.Wait()
		})
		select {
		case <-stopped:
			<-s.done
		case <-s.failure.failed:
		}
		err = errors.Join(s.peers.close(), s.lock.Close())
	})
	return err
}

// transferWithin limits how long a stopping member waits for another leader.
const transferWithin = 2 * time.Second

// transferLeadership transfers the leadership to another member, if this one leads, so that no election is
// needed.
func (s *Server) transferLeadership() {
	done := make(chan struct{})
	worker.Go(func() {
		defer close(done)
		if err := s.etcd.TryTransferLeadershipOnShutdown(); err != nil {
			klog.V(2).InfoS("Failed to transfer the leadership of the embedded etcd", "err", err)
		}
	})
	select {
	case <-done:
	case <-time.After(transferWithin): // stopping etcd ends the goroutine
	}
}

// lockFile is the name of a directory's lock file.
const lockFile = "lock"

// lockDir creates the directory and locks it for this process.
func lockDir(dir string) (*fileutil.LockedFile, error) {
	if err := errors.Join(durable.MkdirAll(dir, fileutil.PrivateDirMode),
		fileutil.TouchDirAll(newLogger(), dir)); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", dir, err)
	}
	lock, err := fileutil.TryLockFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, fileutil.PrivateFileMode)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, database.InUse(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", dir, err)
	}
	return lock, nil
}

// lead makes a single member the leader and waits until everything that was acknowledged before the last stop
// is applied.
//
// Raft would first wait for an election timeout, because there may be a leader. A single member instead
// receives a MsgTimeoutNow at once, with which a leader transfers its leadership. The member ignores the
// message until the configuration changes of the log are applied, so the message is repeated. If the log has
// other members, the member does not lead, and lead returns false.
func (s *Server) lead(ctx context.Context) (leads bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	id := uint64(s.etcd.MemberID())
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	if err := s.replayed(ctx, tick); err != nil {
		return false, err
	}
	if len(s.etcd.Cluster().Members()) > 1 {
		return false, nil
	}
	for uint64(s.etcd.Leader()) != id {
		if err := s.etcd.Process(ctx, timeoutNow(id, id, s.etcd.Term())); err != nil {
			return false, err
		}
		if err := s.pause(ctx, tick); err != nil {
			return false, err
		}
	}
	return true, s.applied(ctx)
}

// applied waits until an entry of the new leader is applied, and with it all entries before: those that were
// acknowledged, but not recorded as committed when the process was killed. A read is not sufficient, because
// raft serves reads of a single member before its first commit in the term. The entry gets the alarms, which
// changes nothing.
func (s *Server) applied(ctx context.Context) error {
	for {
		_, err := s.etcd.Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_GET})
		switch {
		case err == nil:
			return nil
		case s.stored > s.etcd.CommittedIndex():
			return fmt.Errorf("the log ends at entry %d, and the database has what was written up to %d: files of the log are damaged or missing (restore a snapshot)", s.etcd.CommittedIndex(), s.stored)
		case !errors.Is(err, etcderrors.ErrLeaderChanged) || ctx.Err() != nil:
			return fmt.Errorf("the log could not be applied: %w", err)
		}
	}
}

// keepEntries sets how many applied entries stay in memory. etcd reads the setting each time it has applied a
// hundred further entries. It did so for the replayed entries, before the leader's first entry that lead has
// awaited, and will do so after further writes.
func (s *Server) keepEntries(keep uint64) { s.etcd.Cfg.SnapshotCatchUpEntries = keep }

// dropReplayed makes etcd drop the replayed entries of the log, some 2,000, from memory. To this end it
// proposes entries that change nothing. Otherwise the replayed entries would stay until clients write. It ends
// with the server.
func (s *Server) dropReplayed() {
	if s.etcd.AppliedIndex() < fewEntries {
		return
	}
	for range compactedAfter {
		if _, err := s.etcd.Alarm(context.Background(), &pb.AlarmRequest{Action: pb.AlarmRequest_GET}); err != nil {
			return // stopped, or failed, which Done reports
		}
	}
}

// replayed waits until the replayed log is applied. Campaigning earlier is dangerous: raft scans the entries
// that etcd has not reported as applied, while etcd drops applied entries from memory. etcd reports them a
// moment after it increases its own count, so the count must be unchanged for some ticks. A member without
// entries to apply becomes the leader after its election timeout.
func (s *Server) replayed(ctx context.Context, tick *time.Ticker) error {
	const ticks = 4
	last, same := uint64(0), 0
	for same < ticks && uint64(s.etcd.Leader()) != uint64(s.etcd.MemberID()) {
		if err := s.pause(ctx, tick); err != nil {
			return err
		}
		applied := s.etcd.AppliedIndex()
		if applied == 0 || applied != last || applied != s.etcd.CommittedIndex() {
			last, same = applied, 0
			continue
		}
		same++
	}
	return nil
}

// awaitApplied waits without a leader until all committed entries of the log are applied: until none was
// applied for a while.
func (s *Server) awaitApplied(ctx context.Context) error {
	const enough = 200
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for same, last := 0, uint64(0); same < enough; same++ {
		if err := s.pause(ctx, tick); err != nil {
			return err
		}
		if applied := s.etcd.AppliedIndex(); applied != last || applied < s.etcd.CommittedIndex() {
			same, last = 0, applied
		}
	}
	return nil
}

// pause waits for a tick. It returns an error if ctx or the server ends.
func (s *Server) pause(ctx context.Context, tick *time.Ticker) error {
	select {
	case <-tick.C:
		return nil
	case <-s.done:
		return errors.Join(errors.New("stopped while it started"), s.Err())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newServer calls etcdserver.NewServer and returns fatal messages of etcd as errors. It does not wait for an
// etcd that has failed, because its goroutines may hang.
func newServer(sc config.ServerConfig, failure *failure) (*etcdserver.EtcdServer, error) {
	type made struct {
		server *etcdserver.EtcdServer
		err    error
	}
	result := make(chan made, 1)
	worker.Go(func() { // ends on a failure
		var m made
		m.err = database.Guard(func() (err error) {
			m.server, err = etcdserver.NewServer(sc)
			return err
		})
		result <- m
	})
	select {
	case m := <-result:
		return m.server, m.err
	case <-failure.failed:
		return nil, fmt.Errorf("cannot be opened: %w", failure.Err())
	}
}
