//go:build unix

package copying

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/generic/storage/postgres"
	"triplane.dev/generic/storage/postgres/postgrestest"
)

// serveEtcd starts an embedded etcd and returns its backend and a client.
func serveEtcd(t *testing.T, dir string) (*embedded.Backend, *clientv3.Client, func()) {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Serve(l, nil)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + l.Addr().String()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	return server.Backend(), client, func() { client.Close(); server.Close() }
}

// contents returns all keys below /registry/ with their values and revisions.
func contents(t *testing.T, b storage.Backend) string {
	t.Helper()
	page, err := b.Range(t.Context(), storage.RangeOptions{Prefix: "/registry/"})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, kv := range page.Items {
		fmt.Fprintf(&all, "%s=%x@%d\n", kv.Key, kv.Value, kv.Revision)
	}
	return all.String()
}

// Keys of etcd are copied to PostgreSQL, which continues after their revisions, and from there to a snapshot that an
// embedded etcd restores. A copy that was interrupted is repeated, and takes what has changed.
func TestThereAndBack(t *testing.T) {
	server := postgrestest.Start(t, "fsync=off")
	url := server.URL("postgres")
	etcd, client, stop := serveEtcd(t, filepath.Join(t.TempDir(), "etcd"))
	defer stop()
	ctx := t.Context()
	must := func(revision int64, err error) int64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	revisions := map[int]int64{}
	for i := range pageKeys + 30 {
		revisions[i] = must(etcd.Create(ctx, fmt.Sprintf("/registry/a/%03d", i), fmt.Append(nil, i), 0))
	}
	must(etcd.Update(ctx, "/registry/a/007", []byte{0, 0xff}, revisions[7], 0))
	must(etcd.Create(ctx, "/registry/events/e", nil, time.Hour))
	must(etcd.Create(ctx, "/elsewhere", []byte("x"), 0))
	source := Etcd{Client: client, Prefix: "/registry/"}

	interrupted, cancel := context.WithCancel(ctx)
	to, err := OpenTarget(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(interrupted, source, to, func(Result) { cancel() }); err == nil {
		t.Fatal("the copy was not interrupted")
	}
	to.Close(ctx)
	if _, err := postgres.Open(ctx, postgres.Config{URL: url}); err == nil || !strings.Contains(err.Error(), "was not completed") {
		t.Fatalf("a server uses half a copy: %v", err)
	}

	copyAll := func(changed int64) {
		t.Helper()
		to, err := OpenTarget(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close(ctx)
		r, err := Run(ctx, source, to, nil)
		if err != nil || r.Keys != pageKeys+31 || r.Changed != changed {
			t.Fatalf("%+v, %v; want %d changed", r, err, changed)
		}
	}
	copyAll(31) // the first page was copied
	must(etcd.Delete(ctx, "/registry/a/003", revisions[3]))
	must(etcd.Update(ctx, "/registry/a/004", []byte("new"), revisions[4], 0))
	last := must(etcd.Create(ctx, "/registry/z", []byte("last"), 0))
	copyAll(2)

	b, err := postgres.Open(ctx, postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, b), contents(t, etcd); got != want {
		t.Errorf("copied\n%s\nof\n%s", got, want)
	}
	if now := must(b.Revision(ctx)); now != last {
		t.Errorf("the copy is at revision %d, want %d", now, last)
	}
	if at := must(b.Create(ctx, "/registry/next", nil, 0)); at != last+1 {
		t.Errorf("it continues at %d after %d", at, last)
	}
	want := contents(t, b)
	b.Close()
	if _, err := OpenTarget(ctx, url); err == nil || !strings.Contains(err.Error(), "that servers use") {
		t.Errorf("a copy to a store that servers use: %v", err)
	}

	from, err := OpenSource(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close(ctx)
	expiring := 0
	if _, err := from.Each(ctx, func(k Key) error {
		if left := time.Until(k.Expires); !k.Expires.IsZero() && left > 50*time.Minute && left < 70*time.Minute {
			expiring++
		}
		return nil
	}); err != nil || expiring != 1 {
		t.Errorf("%d keys expire in an hour, %v", expiring, err)
	}
	file, dir := filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "etcd")
	snapshot, err := NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(ctx, from, snapshot, nil); err != nil {
		t.Fatal(err)
	}
	if err := embedded.Restore(file, dir); err != nil {
		t.Fatal(err)
	}
	restored, _, stopRestored := serveEtcd(t, dir)
	defer stopRestored()
	if got := contents(t, restored); got != want {
		t.Errorf("restored\n%s\nof\n%s", got, want)
	}
}
