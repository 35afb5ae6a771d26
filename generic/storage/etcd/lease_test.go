package etcd

import (
	"context"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// granting is a KV that only grants leases.
type granting struct {
	KV
	ttls []int64
}

func (g *granting) LeaseGrant(_ context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	g.ttls = append(g.ttls, r.TTL)
	return &pb.LeaseGrantResponse{ID: int64(len(g.ttls))}, nil
}

func TestLeasesAreShared(t *testing.T) {
	g := &granting{}
	var counted []int
	l := newLeases(g, LeaseOptions{MaxObjects: 3, Observe: func(n int) { counted = append(counted, n) }})
	now := time.Now()
	l.now = func() time.Time { return now }
	get := func(ttl time.Duration) int64 {
		id, err := l.get(context.Background(), ttl)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if id := get(0); id != 0 {
		t.Errorf("a key without a ttl got lease %d", id)
	}
	var got []int64
	for range 4 {
		got = append(got, get(time.Hour))
	}
	got = append(got, get(time.Minute))
	now = now.Add(61 * time.Second)
	got = append(got, get(time.Hour))
	for i, want := range []int64{1, 1, 1, 2, 3, 4} {
		if got[i] != want {
			t.Fatalf("got leases %v", got)
		}
	}
	// A lease outlives the ttl by the minute for which it is reused, but not by
	// more than a twentieth.
	for i, want := range []int64{3660, 3660, 63, 3660} {
		if g.ttls[i] != want {
			t.Errorf("asked for ttls %v", g.ttls)
		}
	}
	if len(counted) != 2 || counted[0] != 3 || counted[1] != 1 {
		t.Errorf("counted %v", counted)
	}
}
