package embedded

import (
	"context"
	"fmt"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"k8s.io/klog/v2"
)

// Releases of etcd for Config.Release.
const (
	// Release is that of this program.
	Release      = "3.7"
	releaseMinor = 7
	// FormerRelease is the one before. Its programs can open a directory that Release has lowered to it.
	FormerRelease = "3.6"
)

// releaseInterval is the interval at which the leader compares the release of the cluster with the configured one.
// etcd itself acts on a change within four seconds.
const releaseInterval = 2 * time.Second

// keepRelease has the directory be of a release until ctx ends. The leader decides for all members, so a cluster
// whose members are configured differently follows its leader.
//
// etcd raises the release when all members run a newer one. It lowers it only if a downgrade is enabled, which it
// stores, so that the release stays lowered after a restart. Members cannot join while it is enabled: it is canceled
// when one is added, and enabled again when that has started.
func (s *Server) keepRelease(ctx context.Context, release string) {
	ticker := time.NewTicker(releaseInterval)
	defer ticker.Stop()
	last := int64(0)
	for s.pause(ctx, ticker) == nil {
		minor := s.storedMinor()
		if is := fmt.Sprintf("3.%d", minor); last != 0 && minor != last && is == release {
			klog.InfoS("Changed the release of etcd whose programs can open the data directory", "release", is)
		}
		last = minor
		if s.etcd.Leader() != s.etcd.MemberID() {
			continue
		}
		if err := s.changeRelease(ctx, release); err != nil && ctx.Err() == nil {
			klog.V(2).InfoS("Failed to change the release of the embedded etcd, retrying", "release", release, "err", err)
		}
	}
}

// changeRelease starts or ends the downgrade of the cluster, where its release is not the given one.
func (s *Server) changeRelease(ctx context.Context, release string) error {
	if release == Release || s.awaitsMember() {
		return s.cancelDowngrade(ctx)
	}
	is := s.etcd.ClusterVersion()
	if s.etcd.DowngradeInfo().Enabled || is == nil || version.Cluster(is.String()) != Release {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	_, err := s.etcd.Downgrade(ctx, &pb.DowngradeRequest{Action: pb.DowngradeRequest_ENABLE, Version: release})
	return err
}

// cancelDowngrade cancels the downgrade of the cluster if one is enabled, so that members can join.
func (s *Server) cancelDowngrade(ctx context.Context) error {
	if !s.etcd.DowngradeInfo().Enabled {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	_, err := s.etcd.Downgrade(ctx, &pb.DowngradeRequest{Action: pb.DowngradeRequest_CANCEL})
	if err == nil && s.etcd.DowngradeInfo().Enabled { // etcd only logs the error
		err = fmt.Errorf("%w: etcd's downgrade could not be canceled", ErrMembersBusy)
	}
	return err
}

// awaitsMember reports whether a member was added that has not started yet.
func (s *Server) awaitsMember() bool {
	return slices.ContainsFunc(s.etcd.Cluster().Members(), func(m *membership.Member) bool { return m.Name == "" })
}

// storedMinor returns N if programs of etcd 3.N can open the directory, 0 if it is not known yet. A directory of the
// former release that etcd is about to raise counts as raised.
func (s *Server) storedMinor() int64 {
	if !s.gate.enter() {
		return 0
	}
	defer s.gate.leave()
	switch v := s.etcd.StorageVersion(); {
	case v == nil:
		return 0
	case s.etcd.DowngradeInfo().Enabled:
		return v.Minor
	default:
		return releaseMinor
	}
}
