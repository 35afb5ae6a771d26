package etcd

import (
	"context"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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
	// A lease lasts longer than the ttl by the minute of its reuse, but by at most a twentieth.
	for i, want := range []int64{3660, 3660, 63, 3660} {
		if g.ttls[i] != want {
			t.Errorf("granted ttls %v", g.ttls)
		}
	}
	if !slices.Equal(counted, []int{3, 1, 1}) {
		t.Errorf("counted %v", counted)
	}
}

// revoking is a KV whose first lease is revoked.
type revoking struct{ granting }

func (r *revoking) Txn(_ context.Context, txn *pb.TxnRequest) (*pb.TxnResponse, error) {
	if txn.Success[0].GetRequestPut().Lease == 1 {
		return nil, rpctypes.ErrGRPCLeaseNotFound
	}
	return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 7}}, nil
}

func TestRevokedLeaseIsReplaced(t *testing.T) {
	kv := &revoking{}
	s := NewStore(kv, StoreOptions{})
	for _, write := range []func() (int64, error){
		func() (int64, error) { return s.Create(t.Context(), "/a", nil, time.Hour) },
		func() (int64, error) { return s.Update(t.Context(), "/a", nil, 1, time.Hour) },
	} {
		if revision, err := write(); revision != 7 || err != nil {
			t.Errorf("revision %d, %v", revision, err)
		}
	}
	if len(kv.ttls) != 2 {
		t.Errorf("%d leases were granted", len(kv.ttls))
	}
}

// TestLeasesOfManyTTLs expects that leases of ttls that do not come back are dropped and counted, also those of a
// single key.
func TestLeasesOfManyTTLs(t *testing.T) {
	var counted int
	l := newLeases(&granting{}, LeaseOptions{Observe: func(n int) { counted += n }})
	now := time.Now()
	l.now = func() time.Time { return now }
	for i := range 1000 {
		if _, err := l.get(t.Context(), time.Hour+time.Duration(i)*time.Second); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	if n := len(l.current); n > 61 || n+counted != 1000 {
		t.Errorf("%d leases are kept, and %d keys were counted", n, counted)
	}
}
