package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// DatabaseSize implements storage.Backend with the size of the tables and their indexes.
func (b *Backend) DatabaseSize(ctx context.Context) (size int64, err error) {
	err = b.read(ctx, func(rows pgx.Rows) error { return rows.Scan(&size) }, `SELECT (pg_total_relation_size(
		'triplane.kv') + pg_total_relation_size('triplane.expiring') + pg_total_relation_size('triplane.store'))::bigint`)
	return size, err
}
