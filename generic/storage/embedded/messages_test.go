package embedded

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"

	"triplane.dev/generic/storage/embedded/raftlog"
)

// testLogLimit is a small limit of the log, for tests of a cluster.
const testLogLimit = 8 << 20

// TestEtcdLogMessages checks that etcd logs the messages that raftlog and reach depend on, with the expected
// fields and in the expected goroutines. If another version of etcd changes them, entries would silently stay
// in memory, and a leader whose process has ended would only be replaced after an election timeout. In this
// case adapt the messages of raftlog, peerActive and peerInactive.
func TestEtcdLogMessages(t *testing.T) {
	c := newTrio(t)
	leader := slices.IndexFunc(c.members[:], func(m *Server) bool { return m.etcd.Leader() == m.etcd.MemberID() })
	if leader < 0 {
		t.Fatal("no leader")
	}
	left, other := c.members[(leader+1)%3], c.members[(leader+2)%3]
	id := other.etcd.MemberID()
	awaitReach(t, left, id, false, peerActive)
	c.write(t, leader, "/r/small")
	const value, values = testLogLimit / 64, 160 // 20 MiB, of which a third of the limit is kept, and what follows
	c.writeLarge(t, leader, value, values)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		kept := left.log.Kept()
		if kept > testLogLimit/4 && kept < testLogLimit/8*5 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("etcd does not log %q and what it does to its log: %d bytes are kept", raftlog.Applying, kept)
		}
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	awaitReach(t, left, id, true, peerInactive)
	c.start(t, (leader+2)%3, nil)
	awaitReach(t, left, id, false, peerActive)
}

// TestLogWhileAMemberCatchesUp: while the leader keeps its log for a member that got its database, writes through any
// member wait, so that the log stays within its limit.
func TestLogWhileAMemberCatchesUp(t *testing.T) {
	c := newTrio(t)
	leader := slices.IndexFunc(c.members[:], func(m *Server) bool { return m.etcd.Leader() == m.etcd.MemberID() })
	if leader < 0 {
		t.Fatal("no leader")
	}
	behind, other := (leader+1)%3, (leader+2)%3
	if err := c.members[behind].Close(); err != nil {
		t.Fatal(err)
	}
	const value = testLogLimit / 64
	c.writeLarge(t, leader, value, 160)
	c.start(t, behind, nil)
	if kept := c.members[behind].log.Kept(); kept > testLogLimit {
		t.Errorf("the member that got the database counts %d bytes of it", kept)
	}
	for _, i := range []int{leader, other} {
		log, n := c.members[i].log, 0
		for ; log.Delayed() < 3 && n < 60; n++ {
			c.writeLarge(t, i, value+n, 1)
		}
		if kept, delayed := log.Kept(), log.Delayed(); kept < testLogLimit/2 || kept > testLogLimit || delayed < 3 {
			t.Errorf("%s keeps %d bytes of %d after %d writes, %d of them delayed", name(i), kept, testLogLimit, n, delayed)
		}
	}
}

// writeLarge creates keys through a member.
func (c *trio) writeLarge(t *testing.T, i, size, n int) {
	t.Helper()
	for j := range n {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_, err := c.members[i].Backend().Create(ctx, fmt.Sprintf("/large/%d-%d-%d-%d", i, size, n, j), make([]byte, size), 0)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// awaitReach waits until etcd has logged that another member is connected or disconnected.
func awaitReach(t *testing.T, s *Server, id types.ID, inactive bool, message string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		s.reach.mu.Lock()
		is, logged := s.reach.inactive[id]
		s.reach.mu.Unlock()
		if logged && is == inactive {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("etcd does not log %q of %s", message, id)
		}
	}
}
