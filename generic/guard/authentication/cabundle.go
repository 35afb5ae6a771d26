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

// recheck is how often a bundle's file is looked at, while it is in use.
const recheck = time.Second

// CABundle is the certificate authorities in a PEM file. It follows changes of
// the file when it is used; a file that became unreadable, or holds nothing,
// leaves the last good authorities in place. A bundle without a file has those that
// were set.
type CABundle struct {
	file    string // "" where authorities are set
	current atomic.Pointer[caGeneration]

	mu      sync.Mutex
	checked atomic.Int64 // Unix nanoseconds
	modTime time.Time
	size    int64
}

// caGeneration is one content of the file.
type caGeneration struct {
	pool   *x509.CertPool
	number uint64
	pem    []byte
}

// NewCABundle reads a bundle; it must hold at least one certificate.
func NewCABundle(file string) (*CABundle, error) {
	b := &CABundle{file: file}
	return b, b.load()
}

// NewSetBundle returns a bundle that trusts nobody until authorities are set.
func NewSetBundle() *CABundle {
	b := &CABundle{}
	b.current.Store(&caGeneration{pool: x509.NewCertPool()})
	return b
}

// Set replaces the authorities by those in pem, none if it is empty. What was verified by
// the former ones is verified again, even if they are the same.
func (b *CABundle) Set(pem []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.replace(pem)
}

// Pool returns the current authorities.
func (b *CABundle) Pool() *x509.CertPool { return b.generation().pool }

// PEM returns the current content of the file.
func (b *CABundle) PEM() []byte { return b.generation().pem }

func (b *CABundle) generation() *caGeneration {
	if b.file == "" {
		return b.current.Load()
	}
	if now := time.Now().UnixNano(); now-b.checked.Load() > int64(recheck) && b.mu.TryLock() {
		b.checked.Store(now)
		if b.changed() {
			// The last good content stays where this fails.
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
