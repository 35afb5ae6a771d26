package encryption

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	kmsapi "k8s.io/kms/apis/v1beta1"
	"k8s.io/utils/lru"
)

const (
	kmsV1Version = "v1beta1"
	// defaultKeys is the default number of cached data keys.
	defaultKeys = 1000
	// dataKeySize is the key size of AES-256.
	dataKeySize = 32
)

var errKMSv1Off = errors.New("KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  " + //nolint:staticcheck // wording of kube-apiserver
	"Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.")

// kmsV1 is the KMS v1 provider. Each value is encrypted with a separate data key, which the plugin encrypts.
// The stored value is the length of the encrypted key in two bytes, that key, and the value with AES-GCM.
// Values with AES-CBC of old releases can be decrypted.
type kmsV1 struct {
	start, name string
	conn        *grpc.ClientConn
	client      kmsapi.KeyManagementServiceClient
	timeout     time.Duration
	metrics     *Metrics
	keys        *lru.Cache // data keys by the hash of the encrypted key; nil disables the cache

	health health
}

func newKMSv1(cfg *KMSConfiguration, m *Metrics) (*kmsV1, error) {
	conn, timeout, err := dialPlugin(cfg, m)
	if err != nil {
		return nil, err
	}
	k := &kmsV1{start: encPrefix + "kms:v1:" + cfg.Name + ":", name: cfg.Name, conn: conn, timeout: timeout, metrics: m,
		client: kmsapi.NewKeyManagementServiceClient(conn)}
	size := defaultKeys
	if cfg.CacheSize != nil {
		size = int(*cfg.CacheSize)
	}
	if size > 0 {
		k.keys = lru.New(size)
	}
	return k, nil
}

func (k *kmsV1) prefix() string { return k.start }

func (k *kmsV1) provider() string { return k.name }

// close closes the connection. It only fails if that is closed already.
func (k *kmsV1) close() { _ = k.conn.Close() }

// poll does nothing: each value has a separate key.
func (k *kmsV1) poll(ctx context.Context) { <-ctx.Done() }

func (k *kmsV1) seal(ctx context.Context, dst, value []byte, key string) ([]byte, error) {
	begun := time.Now()
	dataKey := make([]byte, dataKeySize)
	rand.Read(dataKey) // never fails
	k.metrics.seeds.Observe(time.Since(begun).Seconds())
	encrypted, err := k.encrypt(ctx, dataKey)
	if err != nil {
		return nil, err
	}
	if len(encrypted) == 0 || len(encrypted) > math.MaxUint16 {
		return nil, fmt.Errorf("the encrypted key of the kms provider %s has %d bytes", k.name, len(encrypted))
	}
	c, err := newGCM(dataKey)
	if err != nil {
		return nil, err
	}
	k.keep(sha256.Sum256(encrypted), dataKey)
	dst = append(binary.BigEndian.AppendUint16(dst, uint16(len(encrypted))), encrypted...) //nolint:gosec // bounded above
	return c.seal(dst, value, key)
}

func (k *kmsV1) open(ctx context.Context, stored []byte, key string) ([]byte, bool, error) {
	if len(stored) < 2 {
		return nil, false, errShort
	}
	size := int(binary.BigEndian.Uint16(stored))
	if len(stored) < 2+size {
		return nil, false, errShort
	}
	encrypted, data := stored[2:2+size], stored[2+size:]
	id := sha256.Sum256(encrypted)
	dataKey, err := k.dataKey(ctx, id, encrypted)
	if err != nil {
		return nil, false, err
	}
	value, old, err := openWith(dataKey, data, key)
	if err == nil { // a wrong key is not cached
		k.keep(id, dataKey)
	}
	return value, old, err
}

// openWith decrypts a value with its data key. old is set if it has the format of old releases.
func openWith(dataKey, data []byte, key string) (value []byte, old bool, err error) {
	current, err := newGCM(dataKey)
	if err != nil {
		return nil, false, err
	}
	if value, err = current.open(data, key); err == nil {
		return value, false, nil
	}
	former, formerErr := newCBC(dataKey)
	if formerErr != nil || len(data)%aes.BlockSize != 0 {
		return nil, false, err
	}
	if value, formerErr = former.open(data, key); formerErr != nil {
		return nil, false, err
	}
	return value, true, nil
}

// keep caches a data key.
func (k *kmsV1) keep(id [sha256.Size]byte, dataKey []byte) {
	if k.keys != nil {
		k.keys.Add(id, dataKey)
	}
}

// dataKey returns the decrypted data key.
func (k *kmsV1) dataKey(ctx context.Context, id [sha256.Size]byte, encrypted []byte) ([]byte, error) {
	if k.keys != nil {
		if known, ok := k.keys.Get(id); ok {
			if dataKey, ok := known.([]byte); ok {
				return dataKey, nil
			}
		}
	}
	k.metrics.misses.Inc()
	dataKey, err := k.decrypt(ctx, encrypted)
	if err != nil {
		return nil, fmt.Errorf("failed to decrypt DEK, error: %w", err)
	}
	return dataKey, nil
}

func (k *kmsV1) encrypt(ctx context.Context, plain []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	r, err := k.client.Encrypt(ctx, &kmsapi.EncryptRequest{Version: kmsV1Version, Plain: plain})
	if err != nil {
		return nil, fmt.Errorf("failed to encrypt DEK, error: %w", err)
	}
	return r.Cipher, nil
}

func (k *kmsV1) decrypt(ctx context.Context, encrypted []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	r, err := k.client.Decrypt(ctx, &kmsapi.DecryptRequest{Version: kmsV1Version, Cipher: encrypted})
	if err != nil {
		return nil, err
	}
	return r.Plain, nil
}

// check returns an error unless the plugin decrypts what it has encrypted.
func (k *kmsV1) check(ctx context.Context) error {
	return k.health.check(time.Now, func() error { return k.ping(ctx) })
}

func (k *kmsV1) ping(ctx context.Context) error {
	const text = "ping"
	encrypted, err := k.encrypt(ctx, []byte(text))
	if err != nil {
		return fmt.Errorf("failed to perform encrypt section of the healthz check for KMS Provider %s: %w", k.name, err)
	}
	plain, err := k.decrypt(ctx, encrypted)
	if err != nil {
		return fmt.Errorf("failed to perform decrypt section of the healthz check for KMS Provider %s: %w", k.name, err)
	}
	if !bytes.Equal(plain, []byte(text)) {
		return fmt.Errorf("the KMS provider %s does not give back what it has encrypted", k.name)
	}
	return nil
}
