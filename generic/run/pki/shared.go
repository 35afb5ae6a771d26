package pki

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"triplane.dev/internal/durable"
)

// authorities are the CAs below the key directory that the servers of a cluster share, with their names.
var authorities = [...]struct{ cert, key, name string }{
	{"ca.crt", "ca.key", "triplane-ca"},
	{"front-proxy-ca.crt", "front-proxy-ca.key", "triplane-front-proxy-ca"},
	{"etcd/ca.crt", "etcd/ca.key", "triplane-etcd-ca"},
	{"etcd/peer-ca.crt", "etcd/peer-ca.key", "triplane-etcd-peer-ca"},
}

// shared returns the names of the files that the servers of a cluster share, keys before their certificates.
func shared() (names []string) {
	for _, a := range authorities {
		names = append(names, a.key, a.cert)
	}
	return append(names, "sa.key", "sa.pub")
}

// EnsureShared creates missing files below dir that the servers of a cluster share: the CAs, and the key of
// service account tokens.
func EnsureShared(dir string) error {
	if err := durable.MkdirAll(filepath.Join(dir, "etcd"), 0o700); err != nil {
		return fmt.Errorf("key directory: %w", err)
	}
	for _, a := range authorities {
		if _, err := ensureAuthority(filepath.Join(dir, a.cert), filepath.Join(dir, a.key), a.name); err != nil {
			return err
		}
	}
	f := In(dir)
	return ensureServiceAccountKey(f.ServiceAccountKey, f.ServiceAccountPub)
}

// SecretKey returns the key in a Secret of a shared file: such keys cannot contain slashes.
func SecretKey(name string) string { return strings.ReplaceAll(name, "/", "-") }

// ReadShared returns the shared files below dir by name. EnsureShared must have been called, or dir must be a mounted
// Secret with the keys of SecretKey. The files allow acting as any user.
func ReadShared(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range shared() {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			if mounted, secretErr := os.ReadFile(filepath.Join(dir, SecretKey(name))); secretErr == nil {
				content, err = mounted, nil
			}
		}
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	return files, nil
}

// WriteShared writes the files that ReadShared returned. It returns an error for existing files with other
// content, and never overwrites them.
func WriteShared(dir string, files map[string][]byte) error {
	if err := durable.MkdirAll(filepath.Join(dir, "etcd"), 0o700); err != nil {
		return fmt.Errorf("key directory: %w", err)
	}
	for _, name := range shared() {
		content, path := files[name], filepath.Join(dir, name)
		there, err := readIfExists(path)
		switch {
		case err != nil:
			return err
		case len(content) == 0:
			return fmt.Errorf("the cluster's %s is missing", name)
		case there == nil:
			if err := durable.WriteFile(path, content, 0o600); err != nil {
				return err
			}
		case !bytes.Equal(there, content):
			return fmt.Errorf("%s differs from the cluster's: use a data directory without keys", path)
		}
	}
	return nil
}
