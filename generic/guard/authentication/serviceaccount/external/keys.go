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

	"triplane/generic/guard/authentication/serviceaccount"
)

const (
	// fetchedHolds is how long after a fetch another unknown key id does not cause
	// one: anybody can send tokens with invented key ids.
	fetchedHolds = time.Second
	// retryAfter is when a failed fetch is tried again.
	retryAfter = 10 * time.Second
)

// Keys are the signer's public keys, as they were fetched last.
type Keys struct {
	client  externaljwtv1.ExternalJWTSignerClient
	metrics *Metrics
	current atomic.Pointer[keyList]

	fetching sync.Mutex // one fetch at a time
}

// keyList is the result of a fetch.
type keyList struct {
	serviceaccount.StaticKeys
	generation uint64
	fetched    time.Time
	again      time.Duration
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

// Find implements serviceaccount.Keys. It fetches the keys where none has the id.
func (k *Keys) Find(ctx context.Context, id string) []serviceaccount.PublicKey {
	return k.find(ctx, id, fetchedHolds)
}

// find fetches the keys where none has the id and the last fetch is longer ago than hold.
func (k *Keys) find(ctx context.Context, id string, hold time.Duration) []serviceaccount.PublicKey {
	known := k.current.Load()
	if found := known.Find(ctx, id); len(found) > 0 || time.Since(known.fetched) < hold {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	k.fetching.Lock()
	defer k.fetching.Unlock()
	if k.current.Load() == known {
		if err := k.fetchLocked(ctx); err != nil {
			klog.ErrorS(err, "The keys of service account tokens could not be fetched")
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
	answer, err := k.client.FetchKeys(ctx, &externaljwtv1.FetchKeysRequest{})
	if err != nil {
		return fmt.Errorf("keys of the external signer: %w", err)
	}
	next, err := newKeyList(answer)
	if err != nil {
		return fmt.Errorf("keys of the external signer: %w", err)
	}
	last := k.current.Load()
	next.generation = last.generation
	if !reflect.DeepEqual(next.StaticKeys, last.StaticKeys) {
		next.generation++
	}
	k.current.Store(next)
	k.metrics.fetched(answer.GetDataTimestamp().AsTime())
	return nil
}

func newKeyList(answer *externaljwtv1.FetchKeysResponse) (*keyList, error) {
	list := &keyList{fetched: time.Now(), again: seconds(answer.GetRefreshHintSeconds())}
	if list.again <= 0 {
		return nil, fmt.Errorf("refresh_hint_seconds is %d, and must be positive", answer.GetRefreshHintSeconds())
	}
	if answer.GetDataTimestamp() == nil {
		return nil, errors.New("data_timestamp is missing")
	}
	seen := map[string]bool{}
	for _, key := range answer.GetKeys() {
		id := key.GetKeyId()
		switch {
		case id == "" || len(id) > maxKeyID:
			return nil, fmt.Errorf("key_id must have 1 to %d characters", maxKeyID)
		case seen[id]:
			return nil, fmt.Errorf("key_id %q is there twice", id)
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
		return nil, errors.New("there are none")
	}
	return list, nil
}

// refresh fetches the keys as often as the signer asks for, until ctx ends.
func (k *Keys) refresh(ctx context.Context) {
	wait := k.current.Load().again
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
		if wait = k.current.Load().again; err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "The keys of service account tokens could not be fetched; the last ones stay in use")
			wait = min(wait, retryAfter)
		}
	}
}
