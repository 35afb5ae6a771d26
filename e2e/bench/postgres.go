//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"triplane.dev/e2e/harness"
	binaries "triplane.dev/e2e/programs"
	"triplane.dev/generic/storage/postgres"
	"triplane.dev/generic/storage/postgres/postgrestest"
	"triplane.dev/internal/freeport"
)

// database is a PostgreSQL server, and a database of it.
type database struct {
	server *postgrestest.Server
	url    string
}

// startPostgres starts PostgreSQL with its default settings. Its processes are counted.
func startPostgres() (*target, error) {
	t := &target{}
	server, err := postgrestest.New()
	if err != nil {
		return t, err
	}
	t.stop = append(t.stop, func() { _ = server.Close() }) // what was measured stands
	t.pids = append(t.pids, server.PID())
	url, err := server.Database()
	t.database, t.url = &database{server, url}, url
	return t, err
}

// startKine starts kine, which translates etcd's API to PostgreSQL; the target's URL is that of kine.
func startKine() (*target, error) {
	t, err := startPostgres()
	if err != nil {
		return t, err
	}
	program, err := binaries.Kine.Path()
	if err != nil {
		return t, err
	}
	port, err := freeport.Take()
	if err != nil {
		return t, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	t.url = "http://" + address
	if err := t.run(program, true, "--listen-address", address, "--endpoint", t.database.url); err != nil {
		return t, err
	}
	return t, t.wait(func() error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// startWithPostgres starts Triplane on PostgreSQL.
func startWithPostgres(p harness.Programs, dir string) (*target, error) {
	t, err := startPostgres()
	if err != nil {
		return t, err
	}
	return t, t.triplane(p, filepath.Join(dir, "triplane"), t.url, true)
}

// startWithKine starts Triplane on kine on PostgreSQL.
func startWithKine(p harness.Programs, dir string) (*target, error) {
	t, err := startKine()
	if err != nil {
		return t, err
	}
	return t, t.triplane(p, filepath.Join(dir, "triplane"), t.url, true)
}

// openPostgres opens the backend, which compacts as in a server. Its own CPU is not counted.
func openPostgres(t *target) (rawWrite, func(), error) {
	ctx, cancel := context.WithCancel(context.Background())
	b, err := postgres.Open(ctx, postgres.Config{URL: t.url})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() { b.RunCompactor(ctx, 5*time.Minute) })
	return func(ctx context.Context, _ int, key, value string, expected int64) (int64, error) {
			if expected == 0 {
				return b.Create(ctx, key, []byte(value), 0)
			}
			return b.Update(ctx, key, []byte(value), expected, 0)
		}, func() {
			cancel()
			wg.Wait()
			_ = b.Close() // what was measured stands
		}, nil
}

// query reads a number from the database.
func (d *database) query(sql string) (n int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	return n, conn.QueryRow(ctx, sql).Scan(&n)
}

// bytes is the size of the database without what each empty one has.
func (d *database) bytes() (int64, error) {
	return d.query(`SELECT pg_database_size(current_database()) - pg_database_size('template1')`)
}

// addDatabase enters the size of the database of a target, if it has one.
func (r *results) addDatabase(server string, t *target) error {
	if t.database == nil {
		return nil
	}
	n, err := t.database.bytes()
	if err != nil {
		return err
	}
	r.stored[server] = append(r.stored[server], n)
	progress("  %d MB in the database", n>>20)
	return nil
}

func (r *results) storedMB(server string) (float64, bool) {
	all := r.stored[server]
	if len(all) == 0 {
		return 0, false
	}
	return median(all, func(n int64) float64 { return float64(n) / (1 << 20) }), true
}

// compared is a row of the comparison with kine.
type compared struct {
	work, unit string
	value      func(server string) (float64, bool)
	more       bool    // more is better
	aim        float64 // that of the ratio, or, with max, none
	most       float64 // that of the value
}

// writeDatabases compares the two ways to PostgreSQL.
func (r *results) writeDatabases(w *bytes.Buffer) {
	if !slices.Contains(r.servers, postgresName) || !slices.Contains(r.servers, kineName) {
		return
	}
	fmt.Fprintf(w, "\n## PostgreSQL beside kine\n\nThe same server, with the same PostgreSQL and its default settings: "+
		"the ratio is how many times as good it is without kine. CPU and memory are those of all processes, PostgreSQL's "+
		"too.\n\n| work | %s | %s | ratio | aim | held |\n| --- | --- | --- | --- | --- | --- |\n", postgresName, kineName)
	for _, c := range r.comparisons() {
		own, ok := c.value(postgresName)
		other, also := c.value(kineName)
		if ok && also {
			w.WriteString(c.row(own, other))
		}
	}
}

func (c *compared) row(own, other float64) string {
	ratio, aim, held := other/own, "", ""
	if c.more {
		ratio = own / other
	}
	switch {
	case c.aim > 0:
		aim, held = fmt.Sprintf("≥ %.0f ×", c.aim), verdict(ratio >= c.aim)
	case c.most > 0:
		aim, held = fmt.Sprintf("≤ %.0f %s", c.most, c.unit), verdict(own <= c.most)
	}
	return fmt.Sprintf("| %s | %s %s | %s %s | %.1f × | %s | %s |\n",
		c.work, number(own), c.unit, number(other), c.unit, ratio, aim, held)
}

func verdict(held bool) string {
	if held {
		return "yes"
	}
	return "**no**"
}

func (r *results) comparisons() (all []compared) {
	for _, row := range []struct {
		resource resource
		phase    string
		aim      float64
	}{
		{configMaps, "create", 3}, {pods, "create", 0}, {flundersCRD, "create", 0}, {configMaps, "update", 0},
		{configMaps, "merge patch", 0}, {configMaps, "delete", 0}, {configMaps, "get, consistent", 0},
		{configMaps, "list, JSON", 0}, {configMaps, "page of 500", 0},
	} {
		key := rowKey{row.resource.name, row.phase}
		all = append(all, compared{work: row.phase + ", " + row.resource.kind, unit: "per second", more: true,
			aim:   row.aim,
			value: func(server string) (float64, bool) { return r.rate(key, server) }})
	}
	raw := rowKey{"key of 0.5 KB", rawCreate}
	all = append(all, compared{
		work: "create a key of 0.5 KB, without an API server", unit: "per second", more: true, aim: 3,
		value: func(server string) (float64, bool) {
			return r.rate(raw, map[string]string{postgresName: rawPostgres, kineName: rawKine}[server])
		}})
	create, event := rowKey{configMaps.name, "create"}, rowKey{configMaps.name, "event to each of 100 watchers"}
	return append(all,
		compared{work: "create, ConfigMap: CPU", unit: "ms",
			value: func(server string) (float64, bool) { return r.cpu(create, server) }},
		compared{work: "create, ConfigMap: p99", unit: "ms",
			value: func(server string) (float64, bool) { return r.latency(create, server, measured.slow) }},
		compared{work: "delivery of an event to 100 watchers: p50", unit: "ms", most: 20,
			value: func(server string) (float64, bool) { return r.latency(event, server, measured.median) }},
		compared{work: "delivery of an event to 100 watchers: p99", unit: "ms",
			value: func(server string) (float64, bool) { return r.latency(event, server, measured.slow) }},
		compared{work: "resident memory, idle", unit: "MB", value: r.idleMB},
		compared{work: "resident memory after 3,000 pods and 6,000 ConfigMaps with 3 revisions", unit: "MB",
			value: r.loadedMB},
		compared{work: "size of the database after all rows", unit: "MB", value: r.storedMB})
}

// rate is the median of operations per second of a row.
func (r *results) rate(key rowKey, server string) (float64, bool) {
	all := r.cells[key][server]
	if len(all) == 0 {
		return 0, false
	}
	return median(all, measured.rate), true
}
