//go:build unix

package main

import (
	"fmt"
	"path/filepath"

	"triplane.dev/e2e/harness"
	binaries "triplane.dev/e2e/programs"
	"triplane.dev/generic/storage/postgres/postgrestest"
)

// database starts PostgreSQL with its default settings, and returns the URL of a database.
func (t *target) database() (string, error) {
	server, err := postgrestest.New()
	if err != nil {
		return "", err
	}
	t.stop = append(t.stop, func() { _ = server.Close() }) // what was measured stands
	return server.Database()
}

// startWithPostgres starts Triplane on PostgreSQL.
func startWithPostgres(p harness.Programs, dir string) (*target, error) {
	t := &target{}
	url, err := t.database()
	if err != nil {
		return t, err
	}
	return t, t.triplane(p, filepath.Join(dir, "triplane"), url, true)
}

// startWithKine starts Triplane on kine, which translates etcd's API to the same PostgreSQL.
func startWithKine(p harness.Programs, dir string) (*target, error) {
	t := &target{}
	url, err := t.database()
	if err != nil {
		return t, err
	}
	program, err := binaries.Kine.Path()
	if err != nil {
		return t, err
	}
	port, err := freePort()
	if err != nil {
		return t, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	if err := t.run(program, true, "--listen-address", address, "--endpoint", url); err != nil {
		return t, err
	}
	return t, t.triplane(p, filepath.Join(dir, "triplane"), "http://"+address, true)
}
