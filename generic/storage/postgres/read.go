package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// readTimeout bounds a read. The servers of a partition are noticed within it.
const readTimeout = 30 * time.Second

// read passes each row of a query to scan. If a connection breaks before the first row, it retries once: after a
// restart of the server all connections of the pool are broken.
func (b *Backend) read(ctx context.Context, scan func(pgx.Rows) error, sql string, args ...any) error {
	bounded, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rows, err := b.readOnce(bounded, scan, sql, args)
	if broken(err) && rows == 0 && bounded.Err() == nil {
		b.pool.Reset()
		_, err = b.readOnce(bounded, scan, sql, args)
	}
	return b.translate(ctx, err)
}

func (b *Backend) readOnce(ctx context.Context, scan func(pgx.Rows) error, sql string, args []any) (n int, err error) {
	rows, err := b.pool.Query(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		n++
		if err := scan(rows); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}
