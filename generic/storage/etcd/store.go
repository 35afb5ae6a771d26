package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"triplane.dev/generic/storage"
)

// KV is the part of etcd's v3 API that reads and writes keys. The caller owns the slices of the responses.
type KV interface {
	Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error)
	Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error)
	Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error)
	LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error)
}

// StoreOptions configure a Store. The zero value is correct for a client.
type StoreOptions struct {
	// Serializable reads from one member without consensus. It is only correct if there is only one member.
	Serializable bool
	Leases       LeaseOptions
}

// Store implements the operations of storage.Backend that are one request.
type Store struct {
	kv           KV
	serializable bool
	leases       *leases
}

// NewStore returns a Store over kv.
func NewStore(kv KV, opts StoreOptions) *Store {
	return &Store{kv: kv, serializable: opts.Serializable, leases: newLeases(kv, opts.Leases)}
}

// transact runs a transaction with the condition of ctx.
func (s *Store) transact(ctx context.Context, txn *pb.TxnRequest) (*pb.TxnResponse, error) {
	c, conditional := storage.ConditionOf(ctx)
	if conditional {
		txn.Compare = append(txn.Compare, equals([]byte(c.Key), c.Revision)...)
		txn.Failure = append(txn.Failure, opGet([]byte(c.Key))...)
	}
	resp, err := s.kv.Txn(ctx, txn)
	if err != nil {
		return nil, translate(ctx, err)
	}
	if conditional && !resp.Succeeded && len(resp.Responses) == len(txn.Failure) {
		revision := int64(0)
		if kvs := resp.Responses[len(txn.Failure)-1].GetResponseRange().GetKvs(); len(kvs) > 0 {
			revision = kvs[0].ModRevision
		}
		if revision != c.Revision {
			return nil, storage.ErrCondition
		}
	}
	return resp, nil
}

// equals compares a key's modification revision; 0 means that the key does not exist.
func equals(key []byte, revision int64) []*pb.Compare {
	return []*pb.Compare{{
		Result:      pb.Compare_EQUAL,
		Target:      pb.Compare_MOD,
		Key:         key,
		TargetUnion: &pb.Compare_ModRevision{ModRevision: revision},
	}}
}

func opPut(key, value []byte, lease int64) []*pb.RequestOp {
	return []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{
		RequestPut: &pb.PutRequest{Key: key, Value: value, Lease: lease},
	}}}
}

func opGet(key []byte) []*pb.RequestOp {
	return []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{
		RequestRange: &pb.RangeRequest{Key: key},
	}}}
}
