package embedded

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
)

// TestEtcdLogMessages checks that etcd logs the messages that keptLog and reach depend on, with the expected
// fields and in the expected goroutines. If another version of etcd changes them, entries would silently stay
// in memory, and a leader whose process has ended would only be replaced after an election timeout. In this
// case adapt applying, peerActive and peerInactive.
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
	for deadline := time.Now().Add(10 * time.Second); left.log.bytes.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what is written is not counted")
		}
	}
	left.log.bytes.Add(2 * followersBytes)
	for i := range 2 * keptEntries {
		c.write(t, leader, fmt.Sprintf("/r/%d", i))
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	awaitReach(t, left, id, true, peerInactive)
	c.start(t, (leader+2)%3, nil)
	awaitReach(t, left, id, false, peerActive)
	if err := left.Close(); err != nil { // after which nothing of etcd writes what is read here
		t.Fatal(err)
	}
	if n := left.etcd.Cfg.SnapshotCatchUpEntries; len(left.log.marks) == 0 || n >= followersEntries {
		t.Errorf("etcd does not log %q before it applies entries: %d are kept, %d ends of the log were noted", applying, n, len(left.log.marks))
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
