package copying

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Etcd is an etcd cluster as a Source, with the keys below Prefix.
type Etcd struct {
	Client *clientv3.Client
	Prefix string
}

// Each implements Source.
func (e Etcd) Each(ctx context.Context, f func(Key) error) (revision int64, err error) {
	leases := map[int64]time.Time{}
	start, end := e.Prefix, clientv3.GetPrefixRangeEnd(e.Prefix)
	for {
		page, err := e.Client.Get(ctx, start, clientv3.WithRange(end), clientv3.WithRev(revision),
			clientv3.WithLimit(pageKeys))
		if err != nil {
			return 0, err
		}
		if revision == 0 {
			revision = page.Header.Revision
		}
		for _, kv := range page.Kvs {
			k := Key{Key: kv.Key, Value: kv.Value, Created: kv.CreateRevision, Revision: kv.ModRevision}
			if k.Expires, err = e.expiry(ctx, leases, kv.Lease); err != nil {
				return 0, err
			}
			if err := f(k); err != nil {
				return 0, err
			}
		}
		if !page.More || len(page.Kvs) == 0 {
			return revision, nil
		}
		start = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// expiry returns when a lease expires. One that has expired since the key was read expires now.
func (e Etcd) expiry(ctx context.Context, known map[int64]time.Time, lease int64) (time.Time, error) {
	if lease == 0 {
		return time.Time{}, nil
	}
	if at, ok := known[lease]; ok {
		return at, nil
	}
	l, err := e.Client.TimeToLive(ctx, clientv3.LeaseID(lease))
	if err != nil {
		return time.Time{}, err
	}
	known[lease] = time.Now().Add(time.Duration(max(l.TTL, 0)) * time.Second)
	return known[lease], nil
}
