package embedded

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

const smallQuota = 16 << 20

// startSmall starts a server with a small quota and manages its space.
func startSmall(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{Dir: dir, QuotaBytes: smallQuota})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var compactor worker.Group
	compactor.Go(func() { s.Backend().RunCompactor(ctx, 0) })
	t.Cleanup(func() {
		stop()
		compactor.Wait()
		s.Close()
	})
	return s
}

// within retries a write that is rejected because there is no space.
func within(t *testing.T, write func() error) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := write()
		if err == nil {
			return
		}
		if !errors.Is(err, storage.ErrNoSpace) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// The history never fills a store: it is compacted when a write needs the space.
func TestHistoryMakesRoom(t *testing.T) {
	s := startSmall(t, t.TempDir())
	value := make([]byte, 1<<20)
	revision, err := s.Backend().Create(t.Context(), "/a", value, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		within(t, func() error {
			next, err := s.Backend().Update(t.Context(), "/a", value, revision, 0)
			if err == nil {
				revision = next
			}
			return err
		})
	}
	if size, _ := s.Backend().DatabaseSize(t.Context()); size > 3*smallQuota {
		t.Errorf("the file has %d bytes, with a quota of %d", size, smallQuota)
	}
}

// A full store can be read, emptied and restarted. It accepts writes after a deletion, even if another program
// has raised an alarm.
func TestFullStore(t *testing.T) {
	dir := t.TempDir()
	s := startSmall(t, dir)
	value, n := make([]byte, 1<<20), 0
	for ; ; n++ {
		if _, err := s.Backend().Create(t.Context(), fmt.Sprintf("/%03d", n), value, 0); errors.Is(err, storage.ErrNoSpace) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n < 10 || n > 40 {
		t.Errorf("there was room for %d MiB, with a quota of %d", n, smallQuota)
	}
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: uint64(s.etcd.MemberID()), Alarm: pb.AlarmType_NOSPACE}
	if _, err := s.etcd.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	s.Close()

	s = startSmall(t, dir)
	for i := range n {
		kv, err := s.Backend().Get(t.Context(), fmt.Sprintf("/%03d", i))
		if err != nil {
			t.Fatalf("a full store cannot be read: %v", err)
		}
		if i%2 == 0 {
			continue
		}
		if _, err := s.Backend().Delete(t.Context(), kv.Key, kv.Revision); err != nil {
			t.Fatalf("nothing can be deleted from a full store: %v", err)
		}
	}
	for i := range n / 3 {
		within(t, func() error {
			_, err := s.Backend().Create(t.Context(), fmt.Sprintf("/again-%d", i), value, 0)
			return err
		})
	}
}

// A file that is mostly free is defragmented.
func TestFileShrinks(t *testing.T) {
	s, err := Start(t.Context(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	value := make([]byte, 1<<20)
	var revisions []int64
	for i := range 80 {
		revision, err := s.Backend().Create(t.Context(), fmt.Sprintf("/%03d", i), value, 0)
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, revision)
	}
	for i, revision := range revisions {
		if _, err := s.Backend().Delete(t.Context(), fmt.Sprintf("/%03d", i), revision); err != nil {
			t.Fatal(err)
		}
	}
	space := s.backend.space
	if err := space.dropHistory(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := space.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if size, _ := space.usage(); size > 1<<20 || space.defragmented.Load() != 1 {
		t.Errorf("an empty store has %d bytes", size)
	}
}
