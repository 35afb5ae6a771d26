package storeurl

import (
	"context"
	"fmt"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/etcd"
	"triplane.dev/generic/storage/postgres"
)

// Backend is an open store.
type Backend interface {
	storage.Backend
	Close() error
}

// Open connects to the store. config has the settings of etcd; those that are not about etcd also apply to other
// stores.
func (u URLs) Open(ctx context.Context, config etcd.Config) (Backend, error) {
	if err := u.Validate(); err != nil {
		return nil, err
	}
	database := u.Postgres()
	if database == "" {
		config.Endpoints = u
		return etcd.Dial(ctx, config)
	}
	for _, file := range []string{config.CAFile, config.CertFile, config.KeyFile} {
		if file != "" {
			return nil, fmt.Errorf("--etcd-cafile, --etcd-certfile and --etcd-keyfile are for etcd: name the files of "+
				"PostgreSQL in its URL (sslrootcert, sslcert, sslkey), not %s", file)
		}
	}
	return postgres.Open(ctx, postgres.Config{URL: database, Timeout: config.Timeout, Dial: config.Dial})
}
