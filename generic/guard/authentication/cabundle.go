package authentication

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// recheckInterval is the minimum time between checks of a bundle's file.
const recheckInterval = time.Second

// CABundle is a set of certificate authorities, from a PEM file or from Set. It checks the file for changes
// when it is used. If the file cannot be read or has no certificate, the last valid authorities stay in effect.
type CABundle struct {
	file    string // "" for NewSetBundle
	current atomic.Pointer[caGeneration]

	mu      sync.Mutex
	checked atomic.Int64 // Unix nanoseconds
	modTime time.Time
	size    int64
}

// caGeneration is one version of the authorities.
type caGeneration struct {
	pool   *x509.CertPool
	number uint64
	pem    []byte
}

// NewCABundle reads a PEM file, which must have at least one certificate.
func NewCABundle(file string) (*CABundle, error) {
	b := &CABundle{file: file}
	return b, b.load()
}

// NewSetBundle returns a bundle without authorities, for use with Set.
func NewSetBundle() *CABundle {
	b := &CABundle{}
	b.current.Store(&caGeneration{pool: x509.NewCertPool()})
	return b
}

// Set replaces the authorities by the certificates in pem, which may be empty. Cached verifications become
// invalid, even if the authorities are the same.
func (b *CABundle) Set(pem []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.replace(pem)
}

// Pool returns the current authorities.
func (b *CABundle) Pool() *x509.CertPool { return b.generation().pool }

// PEM returns the current authorities as PEM.
func (b *CABundle) PEM() []byte { return b.generation().pem }

func (b *CABundle) generation() *caGeneration {
	if b.file == "" {
		return b.current.Load()
	}
	if now := time.Now().UnixNano(); now-b.checked.Load() > int64(recheckInterval) && b.mu.TryLock() {
		b.checked.Store(now)
		if b.changed() {
			// On an error the last valid content stays in effect.
			_ = b.loadLocked()
		}
		b.mu.Unlock()
	}
	return b.current.Load()
}

func (b *CABundle) changed() bool {
	info, err := os.Stat(b.file)
	return err == nil && (!info.ModTime().Equal(b.modTime) || info.Size() != b.size)
}

func (b *CABundle) load() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.checked.Store(time.Now().UnixNano())
	return b.loadLocked()
}

func (b *CABundle) loadLocked() error {
	info, err := os.Stat(b.file)
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(b.file)
	if err != nil {
		return err
	}
	if len(pem) == 0 {
		return fmt.Errorf("%s: %w", b.file, errNoCertificates)
	}
	if err := b.replace(pem); err != nil {
		return fmt.Errorf("%s: %w", b.file, err)
	}
	b.modTime, b.size = info.ModTime(), info.Size()
	return nil
}

var errNoCertificates = errors.New("no certificates in the CA bundle")

func (b *CABundle) replace(pem []byte) error {
	pool := x509.NewCertPool()
	if len(pem) > 0 && !pool.AppendCertsFromPEM(pem) {
		return errNoCertificates
	}
	number := uint64(1)
	if last := b.current.Load(); last != nil {
		number = last.number + 1
	}
	b.current.Store(&caGeneration{pool: pool, number: number, pem: pem})
	return nil
}
