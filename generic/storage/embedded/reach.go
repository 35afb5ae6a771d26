package embedded

import (
	"context"
	"errors"
	"net"
	"net/url"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
)

// What etcd logs when its connection to another member is made, and when it breaks.
const (
	peerActive   = "peer became active"
	peerInactive = "peer became inactive (message send to peer failed)"
)

// reach is which other members are not connected, as etcd's log reports it. It is safe for concurrent use.
type reach struct {
	mu   sync.Mutex
	gone map[types.ID]bool
	// broke gets a value when a connection breaks.
	broke chan struct{}
}

func newReach() *reach { return &reach{gone: map[types.ID]bool{}, broke: make(chan struct{}, 1)} }

// observe reads an entry of etcd's log.
func (r *reach) observe(e zapcore.Entry, fields []zapcore.Field) {
	if e.Message != peerActive && e.Message != peerInactive {
		return
	}
	for _, f := range fields {
		id, err := types.IDFromString(f.String)
		if f.Key != "peer-id" || err != nil {
			continue
		}
		r.mu.Lock()
		r.gone[id] = e.Message == peerInactive
		r.mu.Unlock()
	}
	if e.Message == peerInactive {
		select {
		case r.broke <- struct{}{}:
		default:
		}
	}
}

// away reports whether the connection to a member has broken.
func (r *reach) away(id types.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone[id]
}

const (
	// dialWithin bounds how long it is looked whether a leader's process is there.
	dialWithin = 200 * time.Millisecond
	// turn is how long a member waits for one with a lower ID to be elected.
	turn = 150 * time.Millisecond
)

// replaceLeaders has this member stand for election when the leader's process has ended, until ctx does: raft would wait
// for an election timeout, as it has to where the leader may only be slow.
func (s *Server) replaceLeaders(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.reach.broke:
		}
		leader, term := s.etcd.Leader(), s.etcd.Term()
		if leader == 0 || leader == s.etcd.MemberID() || !s.reach.away(leader) || !s.ended(ctx, leader) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(s.rank(leader)) * turn):
		}
		if s.etcd.Leader() != leader || s.etcd.Term() != term || s.etcd.IsLearner() {
			continue
		}
		klog.V(2).InfoS("The leader of the embedded etcd has ended, this member stands for election", "leader", leader.String())
		self := s.etcd.MemberID()
		// As a leader that hands over sends it.
		if err := s.etcd.Process(ctx, raftpb.Message{Type: raftpb.MsgTimeoutNow, From: uint64(leader), To: uint64(self), Term: term}); err != nil {
			klog.V(2).InfoS("This member of the embedded etcd did not stand for election", "err", err)
		}
	}
}

// ended reports whether nothing listens where a member does: connections to it are refused.
func (s *Server) ended(ctx context.Context, id types.ID) bool {
	member := s.etcd.Cluster().Member(id)
	if member == nil || len(member.PeerURLs) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	for _, at := range member.PeerURLs {
		u, err := url.Parse(at)
		if err != nil {
			return false
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
		if err == nil {
			_ = conn.Close() // nothing was sent
			return false
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return false
		}
	}
	return true
}

// rank is how many members would replace a leader rather than this one.
func (s *Server) rank(leader types.ID) int {
	before := 0
	for _, m := range s.etcd.Cluster().Members() {
		if !m.IsLearner && m.ID != leader && m.ID < s.etcd.MemberID() && !s.reach.away(m.ID) {
			before++
		}
	}
	return before
}
