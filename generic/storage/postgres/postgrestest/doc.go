// Package postgrestest runs a PostgreSQL server for tests: Debian's packages, or another installation.
package postgrestest
