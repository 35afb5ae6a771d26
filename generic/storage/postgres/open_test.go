package postgres

import (
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/storage"
)

// Open explains what an administrator has to do.
func TestOpenFailsClearly(t *testing.T) {
	server, url := database(t)
	open(t, url)
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	as := func(user string) string { return strings.Replace(url, "postgres@", user+"@", 1) }
	err := server.Exec(t.Context(), name, "CREATE ROLE reader LOGIN", "CREATE ROLE guest LOGIN", "CREATE DATABASE private",
		"UPDATE triplane.store SET version = 99")
	if err != nil {
		t.Fatal(err)
	}
	for want, test := range map[string]string{
		"create it first":                     strings.Replace(url, name, "absent", 1),
		"newer than the":                      url,
		`the user "reader" lacks privileges`:  as("reader"),
		`the user "guest" lacks privileges`:   strings.Replace(as("guest"), name, "private", 1),
		"cannot be used within":               "postgres://127.0.0.1:1/x",
		"cannot parse the PostgreSQL URL":     "postgres://u:secret@a:b/x",
		"role \"nobody-such\" does not exist": as("nobody-such"),
		"127.0.0.1:1,127.0.0.1:2/x cannot be": "postgres://127.0.0.1:1,127.0.0.1:2/x",
	} {
		timeout := time.Minute
		if strings.Contains(want, "cannot be") {
			timeout = 300 * time.Millisecond
		}
		_, err := Open(t.Context(), Config{URL: test, Timeout: timeout})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", Redact(test), err, want)
		}
	}
}

// A user with the documented privileges serves, but does not migrate.
func TestLeastPrivileges(t *testing.T) {
	server, url := database(t)
	open(t, url)
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	if err := server.Exec(t.Context(), name, append([]string{"CREATE ROLE least LOGIN"}, grants("least")...)...); err != nil {
		t.Fatal(err)
	}
	b := open(t, strings.Replace(url, "postgres@", "least@", 1))
	at, err := b.Create(t.Context(), "/r/a", []byte("1"), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Compact(t.Context(), at); err != nil {
		t.Error(err)
	}
	if _, err := b.Range(t.Context(), storage.RangeOptions{Prefix: "/r/"}); err != nil {
		t.Error(err)
	}
	var expired int
	if err := b.pool.QueryRow(t.Context(), "SELECT pg_sleep(0.01) IS NULL, triplane.expire(10)").Scan(nil, &expired); err != nil || expired != 1 {
		t.Errorf("%d keys expired, %v", expired, err)
	}
	if size, err := b.DatabaseSize(t.Context()); err != nil || size == 0 {
		t.Errorf("size %d, %v", size, err)
	}
}

// grants are the statements of docs/postgresql.md.
func grants(user string) []string {
	return []string{
		"GRANT USAGE ON SCHEMA triplane TO " + user,
		"GRANT SELECT, INSERT, DELETE ON triplane.kv, triplane.expiring TO " + user,
		"GRANT SELECT, UPDATE ON triplane.store TO " + user,
	}
}
