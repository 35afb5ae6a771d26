package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"triplane.dev/generic/storage"
)

// translate converts the error of a read to those of package storage. If the caller's context has ended, it returns
// the context's error.
func (b *Backend) translate(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case b.ctx.Err() != nil:
		return storage.ErrStopped
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if hasCode(err, codeNoTable, codeNoSchema, codeNoPrivilege, codeNoFunction) {
		return err
	}
	return fmt.Errorf("%w: %w", storage.ErrUnavailable, oneLine{err})
}

// translateWrite converts the error of a statement that writes, which sent reports to have been sent. The server has
// rolled back a statement with an error that does not end the session. Otherwise the write may have happened.
func (b *Backend) translateWrite(sent bool, err error) error {
	var pgErr *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case b.ctx.Err() != nil:
		return storage.ErrStopped
	case !sent, pgconn.SafeToRetry(err):
		return fmt.Errorf("%w: %w", storage.ErrNotWritten, oneLine{err})
	case !errors.As(err, &pgErr), pgErr.SeverityUnlocalized != "ERROR":
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, oneLine{err})
	}
	switch pgErr.Code {
	case codeDiskFull:
		return storage.ErrNoSpace
	case codeProgramLimit:
		return fmt.Errorf("%w: %w", storage.ErrTooLarge, err)
	case codeNoTable, codeNoSchema, codeNoPrivilege, codeNoFunction:
		return err
	}
	return fmt.Errorf("%w: %w", storage.ErrNotWritten, err)
}

// oneLine is an error of the driver, which has a line for each server, on one line.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

func (e oneLine) Unwrap() error { return e.error }

// broken reports whether an error means that the connection cannot be used any more, or leads to a standby.
func broken(err error) bool {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.SeverityUnlocalized != "ERROR" || pgErr.Code == codeReadOnly
	}
	return err != nil
}
