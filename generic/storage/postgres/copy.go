package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// copying is the version of a schema while a copy writes to it; servers do not use it.
const copying = -1

// errCopying means that a copy has not been completed.
var errCopying = errors.New("a copy to this database was not completed: repeat it (triplane store copy)")

// copied is the identity of a store that no server has used since it was copied.
const copied = "copied"

// Connect connects to a database without its pool, for tools.
func Connect(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := parse(Config{URL: url})
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL at %s: %w", servers(config.ConnConfig), oneLine{err})
	}
	return conn, nil
}

// BeginCopy prepares a database for rows of another store. It must be empty, or a copy that no server has used.
func BeginCopy(ctx context.Context, conn *pgx.Conn) error {
	if err := supported(ctx, conn); err != nil {
		return err
	}
	err := migrate(ctx, conn)
	if errors.Is(err, errCopying) { // by a program of an earlier version, perhaps
		_, err = conn.Exec(ctx, writeFunctionSQL)
	}
	if err != nil {
		return err
	}
	tag, err := conn.Exec(ctx, `UPDATE triplane.store SET version = $1 WHERE version = $1 OR identity = $2 OR
		identity = '' AND NOT EXISTS (SELECT FROM triplane.kv WHERE key <> '')`, copying, copied)
	if err == nil && tag.RowsAffected() == 0 {
		err = errors.New("the database already contains a store that servers use: copy to another one")
	}
	return err
}

// FinishCopy completes a copy at a revision. Its history is compacted.
func FinishCopy(ctx context.Context, conn *pgx.Conn, revision int64) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{"DELETE FROM triplane.kv WHERE key = ''", nil},
			{"DELETE FROM triplane.expiring e WHERE NOT EXISTS (SELECT FROM triplane.kv WHERE revision = e.revision)", nil},
			{"INSERT INTO triplane.kv SELECT $1::bigint, '', NULL, 0, 0 WHERE NOT EXISTS (SELECT FROM triplane.kv " +
				"WHERE revision = $1::bigint)",
				[]any{revision}},
			{"UPDATE triplane.store SET version = $1, identity = $2, compacted = $3::bigint, " +
				"target = $3::bigint, removed = $3::bigint - 1",
				[]any{len(migrations), copied, revision}},
		} {
			if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// IsDuplicate reports whether a row has a revision that exists already.
func IsDuplicate(err error) bool { return hasCode(err, codeDuplicate) }
