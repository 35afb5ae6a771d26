package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/storage/datadir"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/klog/v2"

	"triplane/generic/storage"
)

const (
	// waitForMajority is how long a start waits for other members, unless set.
	waitForMajority = time.Minute
	// sayEvery is how often it says so.
	sayEvery = 10 * time.Second
	// promoteEvery is how often a new member asks whether it may vote.
	promoteEvery = 200 * time.Millisecond
)

// Begun reports whether a directory holds a member, which then neither begins nor joins a
// cluster. The files of a first start that was killed before anything was committed are removed.
func Begun(dir string) (bool, error) {
	lock, err := lockDir(dir)
	if err != nil {
		return false, err
	}
	is, err := begun(dir)
	return is, errors.Join(err, lock.Close())
}

// begun is Begun for a directory that is locked already.
func begun(dir string) (bool, error) {
	if err := discardUnbegun(dir); err != nil {
		return false, err
	}
	return wal.Exist(datadir.ToWALDir(dir)), nil
}

// alone reports whether a directory holds the only member of a cluster, or will be begun as one.
func alone(cfg Config) (bool, error) {
	is, err := begun(cfg.Dir)
	if err != nil {
		return false, err
	}
	if !is {
		if cfg.Peer != nil && len(cfg.Peer.Initial) <= 1 && !cfg.Peer.Joining {
			klog.ErrorS(nil, "This member begins a cluster of its own, with an empty store: the data directory holds none. "+
				"If it belonged to a cluster, stop it, have the others remove it (triplane member remove), and start it with --join", "directory", cfg.Dir, "member", cfg.Peer.Name)
		}
		return cfg.Peer == nil || len(cfg.Peer.Initial) <= 1, nil
	}
	n, err := membersIn(Database(cfg.Dir))
	// Without any, the log has them.
	return n == 1 || n == 0 && cfg.Peer == nil, err
}

// membersIn returns how many members a database lists.
func membersIn(path string) (n int, err error) {
	if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return 0, nil
	}
	return n, viewDatabase(path, func(tx *bolt.Tx) error {
		if members := tx.Bucket([]byte("members")); members != nil {
			n = members.Stats().KeyN
		}
		return nil
	})
}

// assemble returns when this member has what the cluster has, and may vote.
func (s *Server) assemble(ctx context.Context, p *Peer) error {
	wait := p.Wait
	if wait <= 0 {
		wait = waitForMajority
	}
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var err error
	for _, step := range []func(context.Context) error{s.published, s.caughtUp, s.vote} {
		if err = step(within); err != nil {
			break
		}
	}
	switch {
	case err == nil:
		return nil
	case s.Err() != nil:
		return s.Err()
	case within.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("no majority of the members %s within %v%s", s.listed(), wait, s.remarks.lastProblem())
	}
	return err
}

// published returns when the cluster knows this member's name, which takes a majority, and logs every
// now and then which members it waits for.
func (s *Server) published(ctx context.Context) error {
	say := time.NewTicker(sayEvery)
	defer say.Stop()
	for {
		select {
		case <-s.etcd.ReadyNotify():
			return nil
		case <-say.C:
			klog.InfoS("The embedded etcd waits for a majority of its members", "members", s.listed(), "leader", s.etcd.Leader().String())
		case <-s.done:
			return errors.Join(errors.New("stopped while it started"), s.Err())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// caughtUp returns when this member has what the others have acknowledged.
func (s *Server) caughtUp(ctx context.Context) error {
	for {
		err := s.members.agree(ctx)
		if !errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil || s.Err() != nil {
			return err
		}
		select {
		case <-time.After(promoteEvery):
		case <-s.done:
		}
	}
}

// vote returns when this member, if it is a learner, may vote: the leader allows it when it has nearly
// all of the log.
func (s *Server) vote(ctx context.Context) error {
	again := time.NewTicker(promoteEvery)
	defer again.Stop()
	for s.etcd.IsLearner() {
		_, err := s.etcd.PromoteMember(ctx, uint64(s.etcd.MemberID()))
		if err != nil && !errors.Is(err, etcderrors.ErrLearnerNotReady) {
			klog.InfoS("This member of the embedded etcd cannot vote yet", "err", err)
		}
		if err := s.pause(ctx, again); err != nil {
			return err
		}
	}
	return nil
}

// moveTo updates this member's URL in the cluster, if it has changed.
func (s *Server) moveTo(ctx context.Context, p *Peer) error {
	url := p.URL.String()
	self := s.etcd.Cluster().Member(s.etcd.MemberID())
	if self == nil || slices.Equal(self.PeerURLs, []string{url}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	_, err := s.etcd.UpdateMember(ctx, membership.Member{ID: self.ID, RaftAttributes: membership.RaftAttributes{PeerURLs: []string{url}}})
	if err != nil {
		return fmt.Errorf("changing its URL to %s: %w", url, err)
	}
	return nil
}

// listed are the members, for messages.
func (s *Server) listed() string {
	var all []string
	for _, m := range s.known() {
		all = append(all, fmt.Sprintf("%s (%s)", cmp.Or(m.Name, m.ID), m.URL))
	}
	return strings.Join(all, ", ")
}

// followLeader logs each change of the leader, and has what was proposed to the last one given up, until
// ctx ends.
func (s *Server) followLeader(ctx context.Context) {
	for {
		changed := s.etcd.LeaderChangedNotify()
		for _, m := range s.Members() {
			if m.Leader {
				klog.InfoS("The embedded etcd has a leader", "member", cmp.Or(m.Name, m.ID), "term", s.etcd.Term())
			}
		}
		select {
		case <-changed:
			end := s.members.renew()
			s.background.Go(func() { s.members.settle(ctx, end) })
		case <-ctx.Done():
			return
		}
	}
}
