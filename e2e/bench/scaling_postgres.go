//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"triplane.dev/e2e/harness"
	"triplane.dev/generic/storage/postgres"
)

const (
	postgresCurve = "objects of 1 KB in PostgreSQL"
	// changeRounds is how often a tenth of the objects change.
	changeRounds = 5
	// vacuumWait is how long autovacuum may take; it looks once a minute whether there is something to do.
	vacuumWait = 10 * time.Minute
)

// kilobytes are config maps of 1 KB.
func kilobytes() resource {
	r := configMaps
	r.payload = `"data":{"config.yaml":"` + strings.Repeat("key: value, ", 68) + `","other":"` + strings.Repeat("x", 64) + `"}`
	return r
}

// databaseCurve starts the server on more and more objects, and then shows what becomes of the database when a tenth of
// them are changed, compacted and vacuumed, a few times: the later ones show whether the space is used again. The objects
// are copies of the first one that SQL makes, which is much quicker than requests.
func databaseCurve(p harness.Programs, res *results) func(*bench, *curve) error {
	return func(b *bench, c *curve) error {
		r := kilobytes()
		if err := b.one(post(r.collection, string(r.object(name("o", 0))))); err != nil {
			return err
		}
		before, n := 1, 0
		for _, n = range b.sizes(10_000, 100_000, 1_000_000) {
			err := b.target.betweenStarts(p, func() error { return b.target.database.copies(before, n) })
			if err != nil {
				return err
			}
			if err := enterStart(b.target, c, n); err != nil {
				return err
			}
			before = n
		}
		again := newBench(b.target)
		defer again.loader.close()
		changes := res.curve(fmt.Sprintf("changes of a tenth of %d objects in PostgreSQL", n))
		for round := 1; round <= changeRounds; round++ {
			if err := again.maintain(changes, r, n, round); err != nil {
				return err
			}
		}
		return nil
	}
}

// copies makes objects from the first one, whose names are as long.
func (d *database) copies(from, to int) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is pending
	_, err = conn.Exec(ctx, `INSERT INTO triplane.kv SELECT l.latest + i - $1 + 1,
		convert_to('/registry/configmaps/default/' || n.name, 'UTF8'),
		overlay(o.value PLACING convert_to(n.name, 'UTF8') FROM position('o000000'::bytea IN o.value)), 0, l.latest + i - $1 + 1
		FROM (SELECT value FROM triplane.kv WHERE key = '/registry/configmaps/default/o000000' LIMIT 1) o,
		(SELECT triplane.latest() OFFSET 0) l(latest), generate_series($1::bigint, $2::bigint - 1) i,
		LATERAL (SELECT 'o' || lpad(i::text, 6, '0')) n(name)`, from, to)
	return err
}

// enterStart enters what a start on n objects and the first reads take.
func enterStart(t *target, c *curve, n int) error {
	c.add(n, "exec to ready", fmt.Sprintf("%d ms", t.ready.Milliseconds()))
	b := newBench(t)
	defer b.loader.close()
	begun := time.Now()
	if err := b.one(read(configMaps.collection + "?limit=500")); err != nil {
		return err
	}
	c.add(n, "first page", fmt.Sprintf("%d ms", time.Since(begun).Milliseconds()))
	if err := b.enterReads(c, n); err != nil {
		return err
	}
	c.add(n, "memory of PostgreSQL", mb(residentBytes(t.pids[:1])))
	return b.enterDatabase(c, n, "database")
}

// maintain changes a tenth of n objects, compacts and waits for autovacuum.
func (b *bench) maintain(c *curve, r resource, n, round int) error {
	if err := b.enter(c, round, "update", n/10, func(i int) request { return r.merge(i*10, round*n+i) }); err != nil {
		return err
	}
	if err := b.enterDatabase(c, round, "database"); err != nil {
		return err
	}
	took, err := b.target.database.compact()
	if err != nil {
		return err
	}
	c.add(round, "compaction", fmt.Sprintf("%.1f s", took.Seconds()))
	begun := time.Now()
	for dead := int64(n); dead > int64(n/100); time.Sleep(time.Second) {
		if dead, err = b.target.database.query(`SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'kv'`); err != nil {
			return err
		}
		if time.Since(begun) > vacuumWait {
			return errors.New("autovacuum does not remove the dead rows")
		}
	}
	c.add(round, "vacuumed after", fmt.Sprintf("%.0f s", time.Since(begun).Seconds()))
	return b.enterDatabase(c, round, "database then")
}

// compact compacts up to the current revision, as the server does at an interval, and returns how long that took.
func (d *database) compact() (time.Duration, error) {
	ctx := context.Background()
	b, err := postgres.Open(ctx, postgres.Config{URL: d.url})
	if err != nil {
		return 0, err
	}
	defer func() { _ = b.Close() }()
	revision, err := b.Revision(ctx)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	err = b.Compact(ctx, revision)
	return time.Since(begun), err
}

// enterDatabase enters the size of the database.
func (b *bench) enterDatabase(c *curve, n int, column string) error {
	size, err := b.target.database.bytes()
	if err == nil {
		c.add(n, column, mb(size))
	}
	return err
}
