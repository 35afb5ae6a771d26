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
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"

	"triplane/internal/durable"
	"triplane/internal/worker"
)

// startTimeout bounds what Start waits for: the replay of the log.
const startTimeout = time.Minute

// Server is a running etcd member.
type Server struct {
	etcd    *etcdserver.EtcdServer
	lock    *fileutil.LockedFile
	backend *Backend
	gate    *gate
	rpc     *grpc.Server // nil unless it serves
	peers   *peers       // nil unless there may be other members
	failure *failure
	remarks *remarks
	reach   *reach   // nil unless there may be other members
	log     *keptLog // as reach
	members *agreement
	// clustered is whether there may be other members.
	clustered bool
	// stored is up to which index of the log the database had it at the start.
	stored  uint64
	done    chan struct{}
	closing sync.Once
	// background ends when etcd does.
	background worker.Group
}

// Start opens or creates the data directory and returns when the member serves.
// The context bounds the start only; Close ends the server.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg.complete()
	if cfg.Dir == "" {
		return nil, errors.New("embedded etcd: no data directory given")
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{lock: lock, gate: &gate{}, failure: newFailure(), remarks: &remarks{}, clustered: cfg.Peer != nil, done: make(chan struct{})}
	if s.clustered {
		s.reach, s.log = newReach(), &keptLog{}
	}
	alone, err := s.open(ctx, cfg)
	if err != nil {
		_ = errors.Join(s.peers.close(), lock.Close()) // nothing was written
		return nil, fmt.Errorf("embedded etcd in %s: %w", cfg.Dir, err)
	}
	s.log.of(s.etcd)
	s.etcd.Start()
	s.members = &agreement{server: s.etcd, reach: s.reach}
	if s.clustered {
		s.peers.serve(s.etcd)
	}
	worker.Go(s.follow)
	if s.clustered {
		s.members.renew()
		s.whileOpen(s.followLeader)
		s.whileOpen(s.replaceLeaders)
		s.whileOpen(s.log.count)
	}
	space := newSpace(s.etcd, s.gate, cfg)
	if err := errors.Join(s.begin(ctx, space, alone, cfg), syncNames(cfg.Dir)); err != nil {
		_ = s.Close() // err says why it is closed
		return nil, fmt.Errorf("embedded etcd in %s: %w", cfg.Dir, err)
	}
	s.backend = newBackend(s, space, cfg.Leases)
	return s, nil
}

// open opens the directory, and reports whether it is that of a member that is alone.
func (s *Server) open(ctx context.Context, cfg Config) (isAlone bool, err error) {
	if err := unrestored(cfg.Dir); err != nil {
		return false, err
	}
	if s.stored, err = checkDatabase(cfg.Dir); err != nil {
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
	sc, err := serverConfig(cfg, isAlone, newLoggerOf(s.failure, klogCore{said: s.remarks, reach: s.reach, log: s.log}))
	if err != nil {
		return false, err
	}
	if s.peers, err = listenPeers(cfg.Peer); err != nil {
		return false, err
	}
	s.etcd, err = newServer(sc, s.failure)
	for began := time.Now(); err != nil && !sc.NewCluster && time.Since(began) < knownWithin; {
		select {
		case <-time.After(knownEvery):
		case <-ctx.Done():
			return isAlone, errors.Join(err, ctx.Err())
		}
		s.etcd, err = newServer(sc, s.failure)
	}
	return isAlone, err
}

// A member that joins may ask one that does not know of it yet: so often, and for so long.
const (
	knownEvery  = 200 * time.Millisecond
	knownWithin = 5 * time.Second
)

// syncNames puts the names of etcd's files on the disk, which it syncs only in part when it makes
// them: nothing is acknowledged before.
func syncNames(dir string) error {
	member := filepath.Join(dir, "member")
	return errors.Join(durable.Sync(filepath.Join(member, "snap")), durable.Sync(filepath.Join(member, "wal")), durable.Sync(member), durable.Sync(dir))
}

// begin returns when the member serves, after making room if space is scarce.
func (s *Server) begin(ctx context.Context, space *space, alone bool, cfg Config) error {
	if cfg.Detached && !alone {
		return s.settled(ctx)
	}
	if err := s.join(ctx, alone, cfg.Peer); err != nil {
		return err
	}
	if err := space.silence(ctx); err != nil {
		return err
	}
	if err := space.look(ctx); err != nil {
		klog.ErrorS(err, "Making room in the embedded etcd failed")
	}
	if !s.clustered {
		s.background.Go(s.forgetReplayed)
	}
	return nil
}

// join returns when the member leads, if it is alone, or has caught up with the others.
func (s *Server) join(ctx context.Context, alone bool, peer *Peer) error {
	if alone {
		leads, err := s.lead(ctx)
		if err != nil {
			return err
		}
		alone = leads
		if peer == nil {
			s.forgetSooner(keptEntries)
		}
	}
	s.log.begin()
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

// Backend returns the server's key space, which may be used until Close.
func (s *Server) Backend() *Backend { return s.backend }

// Done is closed when the server has stopped, by Close or by a failure of its
// own.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the server stopped by itself, if it did.
func (s *Server) Err() error {
	if err := s.failure.Err(); err != nil {
		return err
	}
	return s.remarks.Err()
}

// follow closes done when etcd has stopped or failed. Where it stops by itself, as a removed member does,
// reads are refused before it closes its files.
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

// whileOpen runs f until the server stops, whose end ends its context.
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

// Close stops the server and unlocks the data directory. Watches end. It is safe
// to call twice. It does not wait for a server that failed, whose goroutines may hang.
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
			s.handOver()
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

// handOverWithin bounds how long a member that ends waits for another one to lead.
const handOverWithin = 2 * time.Second

// handOver transfers the leadership to another member, if this one leads, so that no election is needed.
func (s *Server) handOver() {
	done := make(chan struct{})
	worker.Go(func() {
		defer close(done)
		if err := s.etcd.TryTransferLeadershipOnShutdown(); err != nil {
			klog.V(2).InfoS("No other member of the embedded etcd leads yet", "err", err)
		}
	})
	select {
	case <-done:
	case <-time.After(handOverWithin): // the stop ends it
	}
}

// lockFile is that of a directory.
const lockFile = "lock"

// lockDir makes the directory and locks it for this process.
func lockDir(dir string) (*fileutil.LockedFile, error) {
	if err := errors.Join(durable.MkdirAll(dir, fileutil.PrivateDirMode), fileutil.TouchDirAll(newLogger(), dir)); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", dir, err)
	}
	lock, err := fileutil.TryLockFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, fileutil.PrivateFileMode)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, errInUse(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", dir, err)
	}
	return lock, nil
}

// lead makes the member the leader of itself and waits until everything that was
// acknowledged before the last stop is applied.
//
// Raft would wait for an election timeout first, in case there is a leader
// already. A member that is alone need not: it receives the message to campaign at once, as a
// leader that hands over sends its successor. It ignores that while the log's
// configuration changes are not applied yet, so the message is repeated. It does not lead, and lead
// returns false, if the log says that there are other members.
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
		now := raftpb.Message{Type: raftpb.MsgTimeoutNow, From: id, To: id, Term: s.etcd.Term()}
		if err := s.etcd.Process(ctx, now); err != nil {
			return false, err
		}
		if err := s.pause(ctx, tick); err != nil {
			return false, err
		}
	}
	return true, s.applied(ctx)
}

// applied waits until an entry of the new leader is applied, and with it whatever
// precedes it in the log: what was acknowledged, but not noted as committed when
// the process was killed. (A read would not do: raft answers those of a member that
// is alone before it has committed anything in its term.) The entry asks for the
// alarms, which changes nothing.
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

// forgetSooner has etcd keep few entries in memory from now on. Etcd's run loop
// reads the setting when it has applied a hundred entries since it did so last:
// it did with what the start has read before it applied the leader's first entry,
// which lead has awaited, and it will after writes that are yet to come.
func (s *Server) forgetSooner(keep uint64) { s.etcd.Cfg.SnapshotCatchUpEntries = keep }

// forgetReplayed has etcd drop from memory what the start has read of the log, some 2,000
// entries, by proposing enough entries that change nothing: otherwise they would stay until clients
// write. It ends when the server does.
func (s *Server) forgetReplayed() {
	if s.etcd.AppliedIndex() < fewEntries {
		return
	}
	for range compactedAfter {
		if _, err := s.etcd.Alarm(context.Background(), &pb.AlarmRequest{Action: pb.AlarmRequest_GET}); err != nil {
			return // it is closed, or failed, which Done reports
		}
	}
}

// replayed waits until the log that was read is applied. Campaigning earlier is
// no use, and dangerous: raft scans the entries that were not reported to it as
// applied, while etcd, which has applied them, begins to drop them from
// memory. Etcd reports them a moment after its own count goes up, so the count has
// to be unchanged for some ticks. A member that finds nothing to apply becomes the leader
// by itself, after its election timeout.
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

// settled waits until what the log says was agreed is applied, without a leader: until nothing is left
// to apply for a while.
func (s *Server) settled(ctx context.Context) error {
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

// pause waits for a tick, the end of ctx or that of the server.
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

// newServer turns what etcd considers fatal about a directory into an error. It does not wait for an etcd that
// has failed: goroutines of it may wait for the one that did.
func newServer(sc config.ServerConfig, failure *failure) (*etcdserver.EtcdServer, error) {
	type made struct {
		server *etcdserver.EtcdServer
		err    error
	}
	result := make(chan made, 1)
	worker.Go(func() { // which a failure ends
		var m made
		m.err = guarded(func() (err error) {
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
