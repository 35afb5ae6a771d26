package pki

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"triplane/internal/durable"
)

// authorities are the certificates and keys, below the key directory, by which servers of one cluster
// know each other's clients and each other, with their names.
var authorities = [...]struct{ cert, key, name string }{
	{"ca.crt", "ca.key", "triplane-ca"},
	{"front-proxy-ca.crt", "front-proxy-ca.key", "triplane-front-proxy-ca"},
	{"etcd/ca.crt", "etcd/ca.key", "triplane-etcd-ca"},
	{"etcd/peer-ca.crt", "etcd/peer-ca.key", "triplane-etcd-peer-ca"},
}

// shared are the files that servers of one cluster have in common, keys before their certificates.
func shared() (names []string) {
	for _, a := range authorities {
		names = append(names, a.key, a.cert)
	}
	return append(names, "sa.key", "sa.pub")
}

// EnsureShared makes what is missing below dir of that which servers of one cluster have in common: the
// authorities, and the key of service account tokens.
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

// ReadShared returns the files below dir that servers of one cluster have in common, by name, after
// EnsureShared. Whoever has them may act as any user.
func ReadShared(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range shared() {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	return files, nil
}

// WriteShared writes what ReadShared has returned elsewhere. Other files that are there are an error:
// somebody may still need them.
func WriteShared(dir string, files map[string][]byte) error {
	if err := durable.MkdirAll(filepath.Join(dir, "etcd"), 0o700); err != nil {
		return fmt.Errorf("key directory: %w", err)
	}
	for _, name := range shared() {
		content, path := files[name], filepath.Join(dir, name)
		there, err := readIfThere(path)
		switch {
		case err != nil:
			return err
		case len(content) == 0:
			return fmt.Errorf("%s of the cluster is missing", name)
		case there == nil:
			if err := durable.WriteFile(path, content, 0o600); err != nil {
				return err
			}
		case !bytes.Equal(there, content):
			return fmt.Errorf("%s is another one than the cluster has: use a data directory without keys", path)
		}
	}
	return nil
}
