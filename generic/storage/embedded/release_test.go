package embedded

import (
	"fmt"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/version"
)

// The release of a directory is lowered and raised, and stays what it is without a configured one.
func TestRelease(t *testing.T) {
	if version.Cluster(version.Version) != Release || Release != fmt.Sprintf("3.%d", releaseMinor) {
		t.Fatalf("etcd is %s", version.Version)
	}
	dir := t.TempDir()
	for _, step := range []struct {
		configured string
		minor      int64
	}{{FormerRelease, 6}, {"", 6}, {Release, 7}} {
		s, err := Start(t.Context(), Config{Dir: dir, Release: step.configured})
		if err != nil {
			t.Fatal(err)
		}
		awaitMinor(t, s, step.minor)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func awaitMinor(t *testing.T, s *Server, minor int64) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); s.storedMinor() != minor; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the directory is of etcd 3.%d, not 3.%d", s.storedMinor(), minor)
		}
	}
}

// A member joins a cluster whose release is lowered, which is lowered again after that.
func TestJoinsALoweredCluster(t *testing.T) {
	c := newPeers(t)
	configure := func(i int, joining bool) Config {
		config := c.config(name(i), map[string]string{name(0): c.urls[name(0)]})
		if config.Release = FormerRelease; joining {
			config.Peer.Initial[name(i)], config.Peer.Joining = c.urls[name(i)], true
		}
		return config
	}
	var servers []*Server
	for i := range 2 {
		if i > 0 {
			if err := servers[0].AddMember(t.Context(), name(i), c.urls[name(i)]); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Start(t.Context(), configure(i, i > 0))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		servers = append(servers, s)
		for _, s := range servers {
			awaitMinor(t, s, 6)
		}
	}
}
