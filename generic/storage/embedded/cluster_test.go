package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/lease"

	"triplane.dev/generic/run/pki"
	"triplane.dev/generic/storage"
	"triplane.dev/internal/freeport"
)

// trio is a cluster of three members in one process.
type trio struct {
	dir     string
	files   pki.PeerFiles
	urls    map[string]string
	members [3]*Server
}

func newTrio(t *testing.T) *trio {
	t.Helper()
	c := newPeers(t)
	var wg sync.WaitGroup
	for i := range c.members {
		wg.Go(func() { c.start(t, i, c.urls) })
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// newPeers returns a trio that is not started.
func newPeers(t *testing.T) *trio {
	t.Helper()
	c := &trio{dir: t.TempDir(), urls: map[string]string{}}
	var err error
	if c.files, err = pki.EnsurePeer(filepath.Join(c.dir, "pki"), pki.Config{IPs: []net.IP{net.IPv4(127, 0, 0, 1)}}); err != nil {
		t.Fatal(err)
	}
	for i := range c.members {
		c.urls[name(i)] = "https://" + freeAddress(t)
	}
	return c
}

func name(i int) string { return fmt.Sprintf("m%d", i) }

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := freeport.Take()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("127.0.0.1:", port)
}

// config returns the configuration of a member.
func (c *trio) config(name string, initial map[string]string) Config {
	u, _ := url.Parse(c.urls[name]) // made above
	return Config{Dir: filepath.Join(c.dir, name), logLimit: testLogLimit, Peer: &Peer{
		Name: name, Listen: u.Host, URL: *u, Initial: initial, Wait: 30 * time.Second,
		CertFile: c.files.Cert, KeyFile: c.files.Key, CAFile: c.files.CACert,
	}}
}

func (c *trio) start(t *testing.T, i int, initial map[string]string) {
	s, err := Start(t.Context(), c.config(name(i), initial))
	if err != nil {
		t.Errorf("%s: %v", name(i), err)
		return
	}
	c.members[i] = s
	t.Cleanup(func() { s.Close() })
}

// write creates a key through a member.
func (c *trio) write(t *testing.T, i int, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		_, err := c.members[i].Backend().Create(ctx, key, []byte(key), time.Hour)
		switch {
		case err == nil, errors.Is(err, storage.ErrExists):
			return
		case !errors.Is(err, storage.ErrUnavailable):
			t.Fatalf("%s through %s: %v", key, name(i), err)
		}
	}
}

// TestCluster reads writes of each member at all members, also without the leader, which catches up after its
// restart.
func TestCluster(t *testing.T) {
	c := newTrio(t)
	c.watchThrough(t, 2)
	leader := -1
	for i, m := range c.members {
		c.write(t, i, fmt.Sprintf("/r/%d", i))
		for j := range c.members {
			if got, err := c.members[j].Backend().Get(t.Context(), fmt.Sprintf("/r/%d", i)); err != nil {
				t.Errorf("%d at %d: %v, %v", i, j, got, err)
			}
		}
		if m.etcd.Leader() == m.etcd.MemberID() {
			leader = i
		}
	}
	if leader < 0 {
		t.Fatal("no leader")
	}
	c.renewLease(t)
	if err := c.members[leader].Close(); err != nil {
		t.Fatal(err)
	}
	other := (leader + 1) % 3
	c.write(t, other, "/r/away")
	c.start(t, leader, nil) // the directory knows the others
	if _, err := c.members[leader].Backend().Get(t.Context(), "/r/away"); err != nil {
		t.Errorf("what was written meanwhile: %v", err)
	}
	alone := c.config(name(other), nil)
	alone.Peer = nil
	if err := c.members[other].Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := Start(t.Context(), alone); err == nil || !strings.Contains(err.Error(), "cluster of several") {
		t.Errorf("a member runs alone: %v, %v", s, err)
	}
}

// renewLease renews a lease through each member. Followers forward this to the leader, which counts the time.
func (c *trio) renewLease(t *testing.T) {
	t.Helper()
	const ttl = 60 // seconds
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	granted, err := c.members[0].etcd.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range c.members {
		if left, err := m.etcd.LeaseRenew(ctx, lease.LeaseID(granted.ID)); err != nil || left != ttl {
			t.Errorf("a lease is renewed through %s for %d s: %v", name(i), left, err)
		}
	}
}

// watchThrough checks that a watch during the test's writes receives them in order.
func (c *trio) watchThrough(t *testing.T, i int) {
	t.Helper()
	stream, err := c.members[i].Backend().Watch(t.Context(), "/r/", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Close)
	go func() {
		last := int64(0)
		for {
			changes, progress, err := stream.Next(t.Context())
			if err != nil {
				return
			}
			for _, change := range changes {
				if change.Revision <= last || change.Revision > progress {
					t.Errorf("revision %d after %d, progress %d", change.Revision, last, progress)
				}
				last = change.Revision
			}
		}
	}()
}

// TestWithoutMajority reads and writes without a majority of the members.
func TestWithoutMajority(t *testing.T) {
	c := newTrio(t)
	members := c.members[0].members
	members.noLeader.Store(true) // before there was a leader again
	if _, err := c.members[0].Backend().Revision(t.Context()); err != nil || members.noLeader.Load() {
		t.Errorf("with a leader: %v, given up %v", err, members.noLeader.Load())
	}
	for _, m := range c.members[1:] {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.members[0].Backend().Create(ctx, "/r/a", nil, 0); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("a write: %v", err)
		}
		if _, err := c.members[0].Backend().Create(ctx, "/r/b", nil, 0); !errors.Is(err, storage.ErrNotWritten) {
			t.Errorf("a write after that: %v", err)
		}
	})
	if _, err := c.members[0].Backend().Revision(ctx); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a consistent read: %v", err)
	}
	wg.Wait()
	if err := c.members[0].Close(); err != nil {
		t.Error(err)
	}
	config := c.config(name(0), nil)
	config.Peer.Wait = 2 * time.Second
	if _, err := Start(t.Context(), config); err == nil || !strings.Contains(err.Error(), "no majority of the members m0 (") {
		t.Errorf("it starts: %v", err)
	}
}

// TestLeaderEnds stops the leader abruptly and writes through the others.
func TestLeaderEnds(t *testing.T) {
	const within = 700 * time.Millisecond // raft alone waits for longer, before it asks for votes
	c := newTrio(t)
	leader := slices.IndexFunc(c.members[:], func(m *Server) bool { return m.etcd.Leader() == m.etcd.MemberID() })
	if leader < 0 {
		t.Fatal("no leader")
	}
	for i := range c.members {
		c.write(t, i, fmt.Sprintf("/r/%d", i))
	}
	if err := c.members[leader].peers.close(); err != nil {
		t.Fatal(err)
	}
	c.members[leader].etcd.HardStop()
	began := time.Now()
	for i := range c.members {
		if i != leader {
			c.write(t, i, fmt.Sprintf("/r/after-%d", i))
		}
	}
	if took := time.Since(began); took > within {
		t.Errorf("writes were acknowledged after %v", took)
	}
}
