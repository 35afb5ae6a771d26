package external

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	externaljwtv1 "k8s.io/externaljwt/apis/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/authentication/serviceaccount"
)

const (
	// fetchInterval is the minimum time between fetches because of unknown key IDs, which any client can send.
	fetchInterval = time.Second
	// retryAfter is the pause after a failed fetch.
	retryAfter = 10 * time.Second
)

// Keys are the signer's public keys as of the last fetch.
type Keys struct {
	client  externaljwtv1.ExternalJWTSignerClient
	metrics *Metrics
	current atomic.Pointer[keyList]

	fetching sync.Mutex // one fetch at a time
}

// keyList is the result of a fetch.
type keyList struct {
	serviceaccount.StaticKeys
	generation   uint64
	fetched      time.Time
	refreshAfter time.Duration
}

func newKeys(client externaljwtv1.ExternalJWTSignerClient, m *Metrics) *Keys {
	k := &Keys{client: client, metrics: m}
	k.current.Store(&keyList{})
	return k
}

// All implements serviceaccount.Keys.
func (k *Keys) All() []serviceaccount.PublicKey { return k.current.Load().StaticKeys }

// Generation implements serviceaccount.Keys.
func (k *Keys) Generation() uint64 { return k.current.Load().generation }

// Find implements serviceaccount.Keys. It fetches the keys if none has the ID.
func (k *Keys) Find(ctx context.Context, id string) []serviceaccount.PublicKey {
	return k.find(ctx, id, fetchInterval)
}

// find fetches the keys if none has the ID and the last fetch is older than hold.
func (k *Keys) find(ctx context.Context, id string, minAge time.Duration) []serviceaccount.PublicKey {
	known := k.current.Load()
	if found := known.Find(ctx, id); len(found) > 0 || time.Since(known.fetched) < minAge {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	k.fetching.Lock()
	defer k.fetching.Unlock()
	if k.current.Load() == known {
		if err := k.fetchLocked(ctx); err != nil {
			klog.ErrorS(err, "Failed to fetch the keys of service account tokens")
			held := *known
			held.fetched = time.Now()
			k.current.Store(&held)
		}
	}
	return k.current.Load().Find(ctx, id)
}

func (k *Keys) fetch(ctx context.Context) error {
	k.fetching.Lock()
	defer k.fetching.Unlock()
	return k.fetchLocked(ctx)
}

func (k *Keys) fetchLocked(ctx context.Context) error {
	response, err := k.client.FetchKeys(ctx, &externaljwtv1.FetchKeysRequest{})
	if err != nil {
		return fmt.Errorf("keys of the external signer: %w", err)
	}
	next, err := newKeyList(response)
	if err != nil {
		return fmt.Errorf("keys of the external signer: %w", err)
	}
	last := k.current.Load()
	next.generation = last.generation
	if !reflect.DeepEqual(next.StaticKeys, last.StaticKeys) {
		next.generation++
	}
	k.current.Store(next)
	k.metrics.fetched(response.GetDataTimestamp().AsTime())
	return nil
}

func newKeyList(response *externaljwtv1.FetchKeysResponse) (*keyList, error) {
	list := &keyList{fetched: time.Now(), refreshAfter: seconds(response.GetRefreshHintSeconds())}
	if list.refreshAfter <= 0 {
		return nil, fmt.Errorf("refresh_hint_seconds is %d, and must be positive", response.GetRefreshHintSeconds())
	}
	if response.GetDataTimestamp() == nil {
		return nil, errors.New("data_timestamp is missing")
	}
	seen := map[string]bool{}
	for _, key := range response.GetKeys() {
		id := key.GetKeyId()
		switch {
		case id == "" || len(id) > maxKeyID:
			return nil, fmt.Errorf("key_id must have 1 to %d characters", maxKeyID)
		case seen[id]:
			return nil, fmt.Errorf("duplicate key_id %q", id)
		}
		seen[id] = true
		public, err := serviceaccount.NewPublicKey(id, key.GetKey())
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", id, err)
		}
		public.Unpublished = key.GetExcludeFromOidcDiscovery()
		list.StaticKeys = append(list.StaticKeys, public)
	}
	if len(list.StaticKeys) == 0 {
		return nil, errors.New("the signer has no keys")
	}
	return list, nil
}

// refresh fetches the keys at the interval that the signer requests, until ctx ends.
func (k *Keys) refresh(ctx context.Context) {
	wait := k.current.Load().refreshAfter
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		err := k.fetch(limited)
		cancel()
		if wait = k.current.Load().refreshAfter; err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to fetch the keys of service account tokens, keeping the previous ones")
			wait = min(wait, retryAfter)
		}
	}
}
