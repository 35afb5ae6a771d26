package encryption

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/internal/worker"
)

// rules are a compiled configuration, with the chain of each resource.
type rules struct {
	hash    string // of the file
	entries []rule
	plugins []remote

	stop    context.CancelFunc
	polling worker.Group
}

type rule struct {
	resources []string
	chain     chain
}

// remote is a KMS provider.
type remote interface {
	transformer
	provider() string
	// poll does periodic work until ctx ends.
	poll(ctx context.Context)
	// check returns an error unless the plugin is healthy.
	check(ctx context.Context) error
	close()
}

// plain stores values without encryption.
var plain = chain{identity{}}

// newRules compiles a configuration. close must be called. v1 allows KMS v1.
func newRules(data []byte, v1 bool, m *Metrics) (*rules, error) {
	cfg, err := Parse(data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	r := &rules{hash: "sha256:" + hex.EncodeToString(sum[:])}
	for _, res := range cfg.Resources {
		e := rule{resources: res.Resources}
		for i := range res.Providers {
			t, err := r.provider(&res.Providers[i], v1, m)
			if err != nil {
				r.close()
				return nil, err
			}
			e.chain = append(e.chain, t)
		}
		r.entries = append(r.entries, e)
	}
	return r, nil
}

func (r *rules) provider(p *ProviderConfiguration, v1 bool, m *Metrics) (transformer, error) {
	switch {
	case p.AESGCM != nil:
		return newKeyed("aesgcm", "AES", p.AESGCM.Keys, newGCM)
	case p.AESCBC != nil:
		return newKeyed("aescbc", "AES", p.AESCBC.Keys, newCBC)
	case p.Secretbox != nil:
		return newKeyed("secretbox", "Secretbox", p.Secretbox.Keys, newBox)
	case p.KMS != nil:
		k, err := newRemote(p.KMS, v1, m)
		if err == nil {
			r.plugins = append(r.plugins, k)
		}
		return k, err
	}
	return identity{}, nil
}

func newRemote(cfg *KMSConfiguration, v1 bool, m *Metrics) (remote, error) {
	switch {
	case cfg.version() == "v2":
		return newKMS(cfg, m)
	case !v1:
		return nil, errKMSv1Off
	}
	return newKMSv1(cfg, m)
}

// start starts the polling of the plugins.
func (r *rules) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	for _, k := range r.plugins {
		r.polling.Keep(ctx, k.poll)
	}
}

// close stops the polling and closes the connections.
func (r *rules) close() {
	if r.stop != nil {
		r.stop()
	}
	r.polling.Wait()
	for _, k := range r.plugins {
		k.close()
	}
}

// check returns an error unless all plugins are healthy.
func (r *rules) check(ctx context.Context) error {
	for _, k := range r.plugins {
		if err := k.check(ctx); err != nil {
			return fmt.Errorf("kms provider %s: %w", k.provider(), err)
		}
	}
	return nil
}

// chainOf returns the providers of a resource: those of all entries that name it, else those of the first wildcard.
func (r *rules) chainOf(resource schema.GroupResource) chain {
	var named chain
	for i := range r.entries {
		e := &r.entries[i]
		at := slices.IndexFunc(e.resources, func(entry string) bool { return matches(entry, resource) })
		switch {
		case at < 0:
		case !isWildcard(e.resources[at]):
			named = slices.Concat(named, e.chain)
		case named != nil:
			return named
		case neverEncrypted(resource):
			return slices.Concat(plain, e.chain) // older releases encrypted these records
		default:
			return e.chain
		}
	}
	if named != nil {
		return named
	}
	return plain
}
