//go:build unix

package harness

import (
	"testing"

	"triplane.dev/generic/storage/postgres/postgrestest"
)

// StartPostgres starts a PostgreSQL server, and skips the test where there is none.
func StartPostgres(t testing.TB, options ...string) *postgrestest.Server {
	t.Helper()
	return postgrestest.Start(t, options...)
}
