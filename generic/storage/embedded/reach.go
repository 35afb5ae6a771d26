package embedded

import (
	"context"
	"net"
	"net/url"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"triplane.dev/internal/platform"
)

// Messages of etcd when a connection to another member is established, and when it breaks.
const (
	peerActive   = "peer became active"
	peerInactive = "peer became inactive (message send to peer failed)"
)

// reach tracks which members are not connected, as etcd's log reports it. It is safe for concurrent use.
type reach struct {
	mu       sync.Mutex
	inactive map[types.ID]bool
	// broke receives a value when a connection breaks.
	broke chan struct{}
}

func newReach() *reach { return &reach{inactive: map[types.ID]bool{}, broke: make(chan struct{}, 1)} }

// observe processes an entry of etcd's log.
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
		r.inactive[id] = e.Message == peerInactive
		r.mu.Unlock()
	}
	if e.Message == peerInactive {
		select {
		case r.broke <- struct{}{}:
		default:
		}
	}
}

// isInactive reports whether the connection to a member is broken.
func (r *reach) isInactive(id types.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inactive[id]
}

const (
	// dialWithin limits the check whether a leader's process is running.
	dialWithin = 200 * time.Millisecond
	// electionDelay is how long a member waits for each member with a lower ID to be elected.
	electionDelay = 150 * time.Millisecond
)

// replaceLeaders makes this member campaign as soon as the leader's process has ended, until ctx ends. Raft
// would wait for an election timeout, because the leader may only be slow.
func (s *Server) replaceLeaders(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.reach.broke:
		}
		leader, term := s.etcd.Leader(), s.etcd.Term()
		if leader == 0 || leader == s.etcd.MemberID() || !s.reach.isInactive(leader) || !s.ended(ctx, leader) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(s.rank(leader)) * electionDelay):
		}
		if s.etcd.Leader() != leader || s.etcd.Term() != term || s.etcd.IsLearner() {
			continue
		}
		klog.V(2).InfoS("Campaigning, the process of the embedded etcd's leader has ended", "leader", leader.String())
		self := s.etcd.MemberID()
		if err := s.etcd.Process(ctx, timeoutNow(uint64(leader), uint64(self), term)); err != nil {
			klog.V(2).InfoS("Failed to campaign for the leadership of the embedded etcd", "err", err)
		}
	}
}

// timeoutNow returns the message with which a leader transfers its leadership.
func timeoutNow(from, to, term uint64) *raftpb.Message {
	return &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: &from, To: &to, Term: &term}
}

// ended reports whether a member's process has ended: connections to its address are refused.
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
			_ = conn.Close() // no data was sent
			return false
		}
		if !platform.IsRefused(err) {
			return false
		}
	}
	return true
}

// rank returns how many members replace a leader in preference to this one.
func (s *Server) rank(leader types.ID) int {
	before := 0
	for _, m := range s.etcd.Cluster().Members() {
		if !m.IsLearner && m.ID != leader && m.ID < s.etcd.MemberID() && !s.reach.isInactive(m.ID) {
			before++
		}
	}
	return before
}
