package postgres

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"triplane.dev/generic/storage"
)

// Replicas that start together create the schema once: each waits for the lock of migrations, and all serve then.
func TestOneReplicaMigrates(t *testing.T) {
	_, url := database(t)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	must := func(sql string, into ...any) {
		t.Helper()
		if err := conn.QueryRow(ctx, sql).Scan(into...); err != nil {
			t.Fatal(err)
		}
	}
	must(strings.Replace(lockMigrations, "_xact", "", 1), nil)
	const replicas = 4
	var running sync.WaitGroup
	for range replicas {
		running.Go(func() {
			b, err := Open(context.WithoutCancel(ctx), Config{URL: url})
			if err != nil {
				t.Error(err)
				return
			}
			b.Close()
		})
	}
	var waiting, stores int
	for end := time.Now().Add(30 * time.Second); waiting < replicas; time.Sleep(10 * time.Millisecond) {
		must(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND
			database = (SELECT oid FROM pg_database WHERE datname = current_database())`, &waiting)
		if time.Now().After(end) {
			t.Fatalf("%d of %d replicas wait", waiting, replicas)
		}
	}
	var absent bool
	if must("SELECT to_regclass('triplane.store') IS NULL", &absent); !absent {
		t.Error("a replica migrates without the lock")
	}
	must("SELECT pg_advisory_unlock_all()", nil)
	running.Wait()
	if must("SELECT count(*) FROM triplane.store", &stores); stores != 1 {
		t.Errorf("%d stores", stores)
	}
}

// A database of version 1, whose writes had no conditions, is migrated, and its programs can write until they end.
func TestMigratesVersion1(t *testing.T) {
	server, url := database(t)
	open(t, url)
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	if err := server.Exec(t.Context(), name, "DROP FUNCTION triplane.write", `CREATE FUNCTION triplane.write(bytea[], bytea[], bigint[],
		float8[]) RETURNS TABLE (done boolean, revision bigint, value bytea) LANGUAGE sql AS 'SELECT false, 0::bigint, NULL::bytea'`,
		"UPDATE triplane.store SET version = 1"); err != nil {
		t.Fatal(err)
	}
	b := open(t, url)
	held := storage.WithCondition(t.Context(), storage.Condition{Key: "/none"})
	if _, err := b.Create(held, "/a", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(t.Context(), name, `SELECT triplane.write('{"/b"}', '{"1"}', '{0}', '{0}')`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), "/b"); err != nil {
		t.Error(err)
	}
}

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
	if err := server.Exec(t.Context(), name, append([]string{"CREATE ROLE least LOGIN"},
		documented(t, "server", "least")...)...); err != nil {
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

// A role for reports reads the view of objects, and nothing else.
func TestReportsPrivileges(t *testing.T) {
	server, url := database(t)
	b := open(t, url)
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	if err := server.Exec(t.Context(), name, append([]string{"CREATE ROLE viewer LOGIN"},
		documented(t, "reports", "viewer")...)...); err != nil {
		t.Fatal(err)
	}
	value := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"gear"}}`
	if _, err := b.Create(t.Context(), "/registry/widgets/gear", []byte(value), 0); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), strings.Replace(url, "postgres@", "viewer@", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var kind, object string
	if err := conn.QueryRow(t.Context(), "SELECT kind, name FROM triplane.objects").Scan(&kind, &object); err != nil ||
		kind != "Widget" || object != "gear" {
		t.Errorf("the view has %s %s, %v", kind, object, err)
	}
	for _, sql := range []string{"SELECT FROM triplane.kv", "SELECT triplane.latest()", "DELETE FROM triplane.objects"} {
		if _, err := conn.Exec(t.Context(), sql); !hasCode(err, codeNoPrivilege, codeWrongState) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// documented returns the privileges of a role in docs/postgresql.md, for another role.
func documented(t *testing.T, role, to string) (statements []string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/postgresql.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		statement, is := strings.CutSuffix(strings.TrimSpace(line), " TO "+role+";")
		if is && strings.HasPrefix(statement, "GRANT ") {
			statements = append(statements, statement+" TO "+to)
		}
	}
	if statements == nil {
		t.Fatalf("the page has no privileges of %s", role)
	}
	return statements
}
