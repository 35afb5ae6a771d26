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

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded/database"
)

const (
	// waitForMajority is the default for how long a start waits for other members.
	waitForMajority = time.Minute
	// logInterval is the interval of log messages while a start waits.
	logInterval = 10 * time.Second
	// promoteInterval is the interval at which a learner requests its promotion.
	promoteInterval = 200 * time.Millisecond
)

// Begun reports whether a directory holds a member, which then neither starts nor joins a cluster. It removes
// the files of a first start that did not complete.
func Begun(dir string) (bool, error) {
	lock, err := lockDir(dir)
	if err != nil {
		return false, err
	}
	is, err := hasMember(dir)
	return is, errors.Join(err, lock.Close())
}

// hasMember is Begun for a directory that is already locked.
func hasMember(dir string) (bool, error) {
	if err := discardUncommitted(dir); err != nil {
		return false, err
	}
	return wal.Exist(datadir.ToWALDir(dir)), nil
}

// alone reports whether a directory holds the only member of a cluster, or will start as one.
func alone(cfg Config) (bool, error) {
	is, err := hasMember(cfg.Dir)
	if err != nil {
		return false, err
	}
	if !is {
		if cfg.Peer != nil && len(cfg.Peer.Initial) == 0 && !cfg.Peer.Joining {
			klog.ErrorS(nil, "Starting a new cluster with an empty store, because the data directory has no member. "+
				"If it belonged to a cluster, stop it, remove it from the others (triplane member remove), and start it with --join", "directory", cfg.Dir, "member", cfg.Peer.Name)
		}
		return cfg.Peer == nil || len(cfg.Peer.Initial) <= 1, nil
	}
	n, err := membersIn(database.Path(cfg.Dir))
	// An empty database has no members: they are in the log.
	return n == 1 || n == 0 && cfg.Peer == nil, err
}

// membersIn returns the number of members in a database.
func membersIn(path string) (n int, err error) {
	if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return 0, nil
	}
	return n, database.View(path, func(tx *bolt.Tx) error {
		if members := tx.Bucket([]byte("members")); members != nil {
			n = members.Stats().KeyN
		}
		return nil
	})
}

// assemble returns when this member has caught up with the cluster and may vote.
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
		return fmt.Errorf("no majority of the members %s within %v%s", s.listed(), wait, s.logStatus.lastProblem())
	}
	return err
}

// published returns when the cluster has this member's name, which requires a majority. It logs periodically
// which members it waits for.
func (s *Server) published(ctx context.Context) error {
	ticker := time.NewTicker(logInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.etcd.ReadyNotify():
			return nil
		case <-ticker.C:
			klog.InfoS("Waiting for a majority of the embedded etcd's members", "members", s.listed(), "leader",
				s.etcd.Leader().String())
		case <-s.done:
			return errors.Join(errors.New("stopped while it started"), s.Err())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// caughtUp returns when this member has applied everything that others have acknowledged.
func (s *Server) caughtUp(ctx context.Context) error {
	for {
		err := s.members.agree(ctx)
		if !errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil || s.Err() != nil {
			return err
		}
		select {
		case <-time.After(promoteInterval):
		case <-s.done:
		}
	}
}

// vote returns when this member may vote. The leader promotes a learner that has nearly all of the log.
func (s *Server) vote(ctx context.Context) error {
	ticker := time.NewTicker(promoteInterval)
	defer ticker.Stop()
	for s.etcd.IsLearner() {
		_, err := s.etcd.PromoteMember(ctx, uint64(s.etcd.MemberID()))
		if err != nil && !errors.Is(err, etcderrors.ErrLearnerNotReady) {
			klog.InfoS("Failed to promote this member of the embedded etcd, retrying", "err", err)
		}
		if err := s.pause(ctx, ticker); err != nil {
			return err
		}
	}
	return nil
}

// moveTo updates this member's URL in the cluster if it has changed.
func (s *Server) moveTo(ctx context.Context, p *Peer) error {
	url := p.URL.String()
	self := s.etcd.Cluster().Member(s.etcd.MemberID())
	if self == nil || slices.Equal(self.PeerURLs, []string{url}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	_, err := s.etcd.UpdateMember(ctx, membership.Member{ID: self.ID,
		RaftAttributes: membership.RaftAttributes{PeerURLs: []string{url}}})
	if err != nil {
		return fmt.Errorf("changing its URL to %s: %w", url, err)
	}
	return nil
}

// listed formats the members for messages.
func (s *Server) listed() string {
	var all []string
	for _, m := range s.known() {
		all = append(all, fmt.Sprintf("%s (%s)", cmp.Or(m.Name, m.ID), m.URL))
	}
	return strings.Join(all, ", ")
}

// followLeader logs each change of the leader until ctx ends, and ends the proposals to the previous leader.
func (s *Server) followLeader(ctx context.Context) {
	for {
		changed := s.etcd.LeaderChangedNotify()
		for _, m := range s.Members() {
			if m.Leader {
				klog.InfoS("Elected the leader of the embedded etcd", "member", cmp.Or(m.Name, m.ID), "term", s.etcd.Term())
			}
		}
		select {
		case <-changed:
			end := s.members.renew()
			s.background.Go(func() { s.members.awaitAgreement(ctx, end) })
		case <-ctx.Done():
			return
		}
	}
}
