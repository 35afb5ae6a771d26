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
	historyCurve  = "revisions of objects of 1 KB in PostgreSQL"
	// changeRounds is how often a tenth of the objects change.
	changeRounds = 5
	// vacuumWait is how long autovacuum may take; it looks once a minute whether there is something to do.
	vacuumWait = 40 * time.Minute
)

// kilobytes are config maps of 1 KB.
func kilobytes() resource {
	r := configMaps
	r.payload = `"data":{"config.yaml":"` + strings.Repeat("key: value, ", 68) + `","other":"` + strings.Repeat("x",
		64) + `"}`
	return r
}

// databaseCurve starts the server on more and more objects, and then shows what becomes of the database when a tenth of
// them are changed, compacted and vacuumed, a few times: the later ones show whether the space is used again. The
// objects are copies of the first one that SQL makes, which is much quicker than requests.
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

// revisionsCurve starts the server on more and more revisions of the same objects, 20 GB of them in the end, and then
// shows how long their compaction takes and what becomes of the space.
func revisionsCurve(p harness.Programs) func(*bench, *curve) error {
	return func(b *bench, c *curve) error {
		if err := b.one(post(configMaps.collection, string(kilobytes().object(name("o", 0))))); err != nil {
			return err
		}
		n, total := b.n(1_000_000), 0
		var after int64 // the revision that the latest ones of the objects follow
		for _, rounds := range []int{1, 4, 14} {
			err := b.target.betweenStarts(p, func() (err error) {
				for ; total < rounds*n && err == nil; total += n {
					after, err = b.target.database.revise(after, n)
				}
				return err
			})
			if err != nil {
				return err
			}
			if err := enterPages(b.target, c, total); err != nil {
				return err
			}
		}
		again := newBench(b.target)
		defer again.loader.close()
		return again.enterCompaction(c, total, n/100)
	}
}

// revise adds a revision of each of n objects, whose latest ones follow the revision after. If after is 0, it creates the
// objects. It returns the revision that the new ones follow. No server may write at the same time.
func (d *database) revise(after int64, n int) (int64, error) {
	latest, err := d.query(`SELECT triplane.latest()`)
	if err != nil || after == 0 {
		return latest, errors.Join(err, d.copies(1, n+1))
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is pending
	_, err = conn.Exec(ctx, `INSERT INTO triplane.kv SELECT $3 + revision - $1, key, value, revision, created
		FROM triplane.kv WHERE revision > $1::bigint AND revision <= $1 + $2::bigint`, after, n, latest)
	return latest, err
}

// enterStart enters what a start on n objects and the first reads take.
func enterStart(t *target, c *curve, n int) error {
	b := newBench(t)
	defer b.loader.close()
	if err := b.enterFirstPage(c, n); err != nil {
		return err
	}
	if err := b.enterReads(c, n); err != nil {
		return err
	}
	c.add(n, "memory of PostgreSQL", mb(residentBytes(t.pids[:1])))
	return b.enterDatabase(c, n, "database")
}

// enterPages enters what a start on n revisions and pages take.
func enterPages(t *target, c *curve, n int) error {
	b := newBench(t)
	defer b.loader.close()
	if err := b.enterFirstPage(c, n); err != nil {
		return err
	}
	page := func(int) request { return read(configMaps.collection + "?limit=500") }
	if err := b.enter(c, n, "page of 500", 64, page); err != nil {
		return err
	}
	b.enterResident(c, n, "resident", 0)
	return b.enterDatabase(c, n, "database")
}

// enterFirstPage enters how long the start has taken, and the first page after it.
func (b *bench) enterFirstPage(c *curve, n int) error {
	c.add(n, "exec to ready", fmt.Sprintf("%d ms", b.target.ready.Milliseconds()))
	begun := time.Now()
	if err := b.one(read(configMaps.collection + "?limit=500")); err != nil {
		return err
	}
	c.add(n, "first page", fmt.Sprintf("%d ms", time.Since(begun).Milliseconds()))
	return nil
}

// maintain changes a tenth of n objects, compacts and waits for autovacuum.
func (b *bench) maintain(c *curve, r resource, n, round int) error {
	if err := b.enter(c, round, "update", n/10, func(i int) request { return r.merge(i*10, round*n+i) }); err != nil {
		return err
	}
	if err := b.enterDatabase(c, round, "database"); err != nil {
		return err
	}
	return b.enterCompaction(c, round, n/100)
}

// enterCompaction compacts all revisions and waits until autovacuum has left at most some dead rows. The row of the
// curve gets how long both take, and the size of the database then.
func (b *bench) enterCompaction(c *curve, row, most int) error {
	took, err := b.target.database.compact()
	if err != nil {
		return err
	}
	c.add(row, "compaction", fmt.Sprintf("%.1f s", took.Seconds()))
	begun := time.Now()
	for dead := int64(most) + 1; dead > int64(most); time.Sleep(time.Second) {
		if dead, err = b.target.database.query(`SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'kv'`); err != nil {
			return err
		}
		if time.Since(begun) > vacuumWait {
			return errors.New("autovacuum does not remove the dead rows")
		}
	}
	c.add(row, "vacuumed after", fmt.Sprintf("%.0f s", time.Since(begun).Seconds()))
	return b.enterDatabase(c, row, "database then")
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
