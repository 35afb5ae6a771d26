package encryption

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

const (
	// Intervals at which the plugin's current key is polled, after success and after failure.
	pollHealthy = time.Minute
	pollBroken  = 10 * time.Second
	// writeTTL is how long a key encrypts after the plugin last reported it as the current one.
	writeTTL = 3 * time.Minute
	// Decrypted keys are cached for openedTTL, at most maxOpened of them.
	openedTTL = time.Hour
	maxOpened = 1000
)

// kms is the KMS v2 provider. It encrypts with a seed that it generates at the start and whenever the plugin's
// key changes. The plugin only encrypts this seed, and decrypts other seeds that are found in storage.
type kms struct {
	start   string
	plugin  *plugin
	metrics *Metrics
	now     func() time.Time

	writing atomic.Pointer[writeKey]
	// calling is held during calls of the plugin for a seed, so that concurrent requests for one seed share a
	// call.
	calling chan struct{}

	health health
	mu     sync.Mutex
	opened map[[sha256.Size]byte]openedKey
}

// writeKey is a seed with its envelope.
type writeKey struct {
	seeded  seeded
	keyID   string
	tail    []byte // of the envelope
	expires time.Time
}

type openedKey struct {
	cipher cipher
	until  time.Time
}

func newKMS(cfg *KMSConfiguration, m *Metrics) (*kms, error) {
	p, err := newPlugin(cfg, m)
	if err != nil {
		return nil, err
	}
	return &kms{
		start:   encPrefix + "kms:v2:" + cfg.Name + ":",
		plugin:  p,
		metrics: m,
		now:     time.Now,
		calling: make(chan struct{}, 1),
		opened:  map[[sha256.Size]byte]openedKey{},
	}, nil
}

func (k *kms) prefix() string { return k.start }

func (k *kms) provider() string { return k.plugin.name }

func (k *kms) close() { k.plugin.close() }

func (k *kms) seal(ctx context.Context, dst, value []byte, key string) ([]byte, error) {
	w := k.writing.Load()
	if w == nil || !k.now().Before(w.expires) {
		if err := k.refresh(ctx); err != nil {
			return nil, err
		}
		w = k.writing.Load()
	}
	k.metrics.keyUsed(toStorage, k.plugin.name, w.keyID)
	dst = appendHead(dst, infoSize+len(value)+gcmAdds)
	dst, err := w.seeded.seal(dst, value, key)
	return append(dst, w.tail...), err
}

func (k *kms) open(ctx context.Context, stored []byte, key string) ([]byte, bool, error) {
	var e envelope
	if err := e.parse(stored); err != nil {
		return nil, false, fmt.Errorf("failed to unmarshal encrypted object: %w", err)
	}
	if err := e.validate(); err != nil {
		return nil, false, fmt.Errorf("failed to validate encrypted object: %w", err)
	}
	value, err := k.openEnvelope(ctx, &e, key)
	if err != nil {
		return nil, false, err
	}
	k.metrics.keyUsed(fromStorage, k.plugin.name, e.keyID)
	w := k.writing.Load()
	return value, w != nil && (e.keyID != w.keyID || e.sourceType != sourceSeed), nil
}

// lock waits until no call of the plugin is in progress.
func (k *kms) lock(ctx context.Context) error {
	select {
	case k.calling <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *kms) unlock() { <-k.calling }

// openEnvelope decrypts an envelope. If its key is not cached, it calls the plugin. The key is only cached if
// it decrypts the value, because the plugin's response may be wrong temporarily.
func (k *kms) openEnvelope(ctx context.Context, e *envelope, key string) ([]byte, error) {
	id := sha256.Sum256(e.tail())
	if c := k.known(id); c != nil {
		return c.open(e.data, key)
	}
	if err := k.lock(ctx); err != nil {
		return nil, err
	}
	defer k.unlock()
	if c := k.known(id); c != nil {
		return c.open(e.data, key)
	}
	c, err := k.cipherOf(ctx, e)
	if err != nil {
		return nil, err
	}
	value, err := c.open(e.data, key)
	if err == nil {
		k.remember(id, c)
	}
	return value, err
}

// cipherOf calls the plugin to decrypt the key of an envelope.
func (k *kms) cipherOf(ctx context.Context, e *envelope) (cipher, error) {
	k.metrics.misses.Inc()
	plain, err := k.plugin.decrypt(ctx, e)
	if err != nil {
		return nil, err
	}
	if e.sourceType == sourceKey {
		return newGCM(plain)
	}
	return newSeeded(plain)
}

func (k *kms) known(id [sha256.Size]byte) cipher {
	k.mu.Lock()
	defer k.mu.Unlock()
	if o, ok := k.opened[id]; ok && k.now().Before(o.until) {
		return o.cipher
	}
	return nil
}

func (k *kms) remember(id [sha256.Size]byte, c cipher) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, o := range k.opened {
		if !now.Before(o.until) {
			delete(k.opened, other)
		}
	}
	for other := range k.opened {
		if len(k.opened) < maxOpened {
			break
		}
		delete(k.opened, other)
	}
	k.opened[id] = openedKey{cipher: c, until: now.Add(openedTTL)}
	k.metrics.sources.WithLabelValues(k.plugin.name).Set(float64(len(k.opened)))
	k.metrics.filled.Set(float64(len(k.opened)) / maxOpened)
}

// refresh polls the plugin's current key and generates a seed for it if it has changed. It does nothing if
// another call has just done this.
func (k *kms) refresh(ctx context.Context) error {
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	w := k.writing.Load()
	if w != nil && w.expires.Sub(k.now()) > writeTTL-time.Second {
		return nil
	}
	keyID, err := k.plugin.status(ctx)
	k.metrics.keyStatus(k.plugin.name, keyID, err)
	if err != nil {
		return fmt.Errorf("kms provider %s: %w", k.plugin.name, err)
	}
	expires := k.now().Add(writeTTL)
	if w != nil && w.keyID == keyID {
		renewed := *w
		renewed.expires = expires
		k.writing.Store(&renewed)
		return nil
	}
	begun := time.Now()
	seed := make([]byte, seedSize)
	rand.Read(seed) // never fails
	k.metrics.seeds.Observe(time.Since(begun).Seconds())
	e, err := k.plugin.encrypt(ctx, seed)
	if err != nil {
		return fmt.Errorf("kms provider %s: %w", k.plugin.name, err)
	}
	next := &writeKey{seeded: seeded{seed}, keyID: e.keyID, tail: e.tail(), expires: expires}
	k.remember(sha256.Sum256(next.tail), next.seeded)
	k.writing.Store(next)
	return nil
}

// poll refreshes the key periodically until ctx ends.
func (k *kms) poll(ctx context.Context) {
	for {
		pause := pollHealthy
		if err := k.refresh(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to poll the current key of a KMS plugin", "provider", k.plugin.name)
			pause = pollBroken
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// check returns an error unless the plugin is healthy.
func (k *kms) check(ctx context.Context) error {
	return k.health.check(k.now, func() error {
		if err := k.refresh(ctx); err != nil {
			return fmt.Errorf("failed to perform status section of the healthz check: %w", err)
		}
		return nil
	})
}
