package postgres

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"triplane.dev/e2e/harness"
)

// keysToCopy are several pages.
const keysToCopy = 6000

// TestKilledCopy kills copies from an etcd cluster to a database, and from there to a data directory, in the middle. No
// server uses half of a copy. Repeated, they are complete, and that to the database continues.
func TestKilledCopy(t *testing.T) {
	store := harness.StartPostgres(t, "fsync=off")
	program, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	etcd := harness.StartEtcd(t)
	fill(t, etcd)
	url := store.URL("postgres")
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())

	killed := exec.CommandContext(t.Context(), program.Triplane, "store", "copy", etcd, url)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); rows(t, conn) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is copied")
		}
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()           // it was killed
	for sessions(t, conn) > 0 { // one may be committing
		time.Sleep(10 * time.Millisecond)
	}
	half := rows(t, conn)
	if half == 0 || half >= keysToCopy {
		t.Fatalf("%d of %d keys were copied", half, keysToCopy)
	}
	s := harness.Prepare(t, "--store", url)
	s.Begin(t)
	if err := s.Wait(t, 30*time.Second); err == nil || !strings.Contains(s.Output(), "was not completed") {
		t.Errorf("a server with half of a copy ended with %v\n%s", err, s.Output())
	}
	first := result(run(t, s, "store", "copy", etcd, url))
	if first["keys"] != fmt.Sprint(keysToCopy) || first["changed"] != fmt.Sprint(keysToCopy-half) {
		t.Errorf("after %d of %d keys the copy has %v", half, keysToCopy, first)
	}

	dir := filepath.Join(t.TempDir(), "new")
	killed = exec.CommandContext(t.Context(), program.Triplane, "store", "copy", url, dir)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(dir, "copy.db*")); found != nil {
			break
		}
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	back := result(run(t, s, "store", "copy", url, dir))
	again := result(run(t, s, "store", "copy", dir, filepath.Join(t.TempDir(), "copy.db")))
	if back["revision"] != first["revision"] {
		t.Errorf("the revision is %s in the database, %s in the directory", first["revision"], back["revision"])
	}
	for _, field := range []string{"keys", "sha256"} { // the directory was restored, and continues after a gap of revisions
		if back[field] != first[field] || again[field] != first[field] {
			t.Errorf("%s: %s in the database, %s in the directory, %s in the snapshot", field, first[field], back[field],
				again[field])
		}
	}
}

// fill writes keys to an etcd.
func fill(t *testing.T, etcd string) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var next atomic.Int64
	var writers sync.WaitGroup
	for range 16 {
		writers.Go(func() {
			for i := next.Add(1); i <= keysToCopy; i = next.Add(1) {
				key := fmt.Sprintf("/registry/configmaps/default/%06d", i)
				if _, err := client.Put(t.Context(), key, strings.Repeat(key, 20)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
}

// rows returns the number of keys of a store, 0 without a schema.
func rows(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var made bool
	err := conn.QueryRow(ctx, "SELECT to_regclass('triplane.kv') IS NOT NULL").Scan(&made)
	if err == nil && made {
		err = conn.QueryRow(ctx, "SELECT count(*) FROM triplane.kv WHERE key <> ''").Scan(&n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sessions returns how many sessions the program has.
func sessions(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'triplane'").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// result returns what a copy prints at its end.
func result(out string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 {
			fields[f[0]] = f[1]
		}
	}
	return fields
}
