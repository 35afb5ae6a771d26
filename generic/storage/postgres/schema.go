package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"k8s.io/klog/v2"
)

//go:embed schema.sql
var schemaSQL string

//go:embed view.sql
var viewSQL string

//go:embed write.sql
var writeFunctionSQL string

// migrations create the schema: migrations[v] leads from version v to v+1.
var migrations = []string{schemaSQL + viewSQL, writeFunctionSQL}

// lockMigrations is held by the transaction that changes the schema.
const lockMigrations = "SELECT pg_advisory_xact_lock(1953653104, 4)"

// migrate brings the schema to the version of this program. One process does so at a time.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	version, err := schemaVersion(ctx, conn)
	if err != nil || version == len(migrations) {
		return err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // fails after Commit
	if _, err := tx.Exec(ctx, lockMigrations); err != nil {
		return err
	}
	if version, err = schemaVersion(ctx, conn); err != nil {
		return err
	}
	for from := version; from < len(migrations); from++ {
		if from == 0 {
			if err := createSchema(ctx, conn); err != nil {
				return err
			}
		}
		if _, err := conn.Exec(ctx, migrations[from]); err != nil {
			return fmt.Errorf("cannot migrate the schema triplane from version %d: %w", from, explained(conn, err))
		}
		if _, err := conn.Exec(ctx, "UPDATE triplane.store SET version = $1", from+1); err != nil {
			return err
		}
		klog.InfoS("Migrated the schema of PostgreSQL", "database", conn.Config().Database, "version", from+1)
	}
	return tx.Commit(ctx)
}

// existsSQL reports whether the schema exists. It reads the catalog: to_regclass can return what the session found
// before it waited for the lock.
const existsSQL = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = 'triplane' AND c.relname = 'store')`

// schemaVersion returns the version of the schema, 0 if it does not exist.
func schemaVersion(ctx context.Context, conn *pgx.Conn) (version int, err error) {
	var exists bool
	if err := conn.QueryRow(ctx, existsSQL).Scan(&exists); err != nil || !exists {
		return 0, explained(conn, err)
	}
	if err := conn.QueryRow(ctx, "SELECT version FROM triplane.store").Scan(&version); err != nil {
		return 0, explained(conn, err)
	}
	if version == copying {
		return 0, errCopying
	}
	if version > len(migrations) {
		return 0, fmt.Errorf("the schema triplane has version %d, newer than the %d of this program: use a newer release",
			version, len(migrations))
	}
	return version, nil
}

// createSchema creates the schema unless it exists. The owner of the database may have created it for the user.
func createSchema(ctx context.Context, conn *pgx.Conn) error {
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT to_regnamespace('triplane') IS NOT NULL").Scan(&exists); err != nil || exists {
		return err
	}
	_, err := conn.Exec(ctx, "CREATE SCHEMA triplane")
	return explained(conn, err)
}

// explained adds to an error of the server what an administrator can do.
func explained(conn *pgx.Conn, err error) error {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return err
	}
	user, database := conn.Config().User, conn.Config().Database
	switch pgErr.Code {
	case codeNoPrivilege:
		return fmt.Errorf("the user %q lacks privileges on the schema triplane of the database %q: let it create the "+
			"schema (GRANT CREATE ON DATABASE), or grant what docs/postgresql.md lists: %w", user, database, err)
	case codeReadOnly:
		return fmt.Errorf("the server is a standby or read-only: %w", err)
	}
	return err
}

// unusable returns an error of a connection that a retry cannot remove, explained; nil for other errors.
func unusable(err error) error {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return nil
	}
	switch {
	case pgErr.Code == codeNoDatabase:
		return fmt.Errorf("%w: create it first (CREATE DATABASE)", err)
	case strings.HasPrefix(pgErr.Code, "28"): // invalid authorization
		return err
	}
	return nil
}
