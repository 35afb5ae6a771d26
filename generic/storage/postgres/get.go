package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"triplane.dev/generic/storage"
)

const getSQL = `SELECT revision, value FROM triplane.kv WHERE key = $1 ORDER BY revision DESC LIMIT 1`

// Get implements storage.Backend.
func (b *Backend) Get(ctx context.Context, key string) (storage.KeyValue, error) {
	kv := storage.KeyValue{Key: key}
	err := b.read(ctx, func(rows pgx.Rows) error { return rows.Scan(&kv.Revision, &kv.Value) }, getSQL, []byte(key))
	switch {
	case err != nil:
		return storage.KeyValue{}, err
	case kv.Value == nil:
		return storage.KeyValue{}, storage.ErrNotFound
	}
	return kv, nil
}
