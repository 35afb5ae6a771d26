package copying

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"triplane.dev/generic/storage/postgres"
)

// Postgres is a database as a Source or Target.
type Postgres struct {
	conn *pgx.Conn
	from []byte // the last key of the previous page
}

// OpenSource connects to a database to copy from.
func OpenSource(ctx context.Context, url string) (*Postgres, error) {
	conn, err := postgres.Connect(ctx, url)
	return &Postgres{conn: conn}, err
}

// OpenTarget connects to a database to copy to. It has no schema, or that of a copy which was interrupted or can be
// repeated because no server has used it since.
func OpenTarget(ctx context.Context, url string) (*Postgres, error) {
	conn, err := postgres.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := postgres.BeginCopy(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return &Postgres{conn: conn}, nil
}

// Close closes the connection.
func (p *Postgres) Close(ctx context.Context) error { return p.conn.Close(ctx) }

const eachSQL = `SELECT l.key, l.value, l.created, l.revision, e.expires FROM (SELECT DISTINCT ON (key) * FROM
	triplane.kv ORDER BY key, revision DESC) l LEFT JOIN triplane.expiring e USING (revision) WHERE l.created > 0
	ORDER BY l.key`

// Each implements Source and Target. All keys are of one snapshot.
func (p *Postgres) Each(ctx context.Context, f func(Key) error) (revision int64, err error) {
	tx, err := p.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was written
	if err := tx.QueryRow(ctx, "SELECT triplane.latest()").Scan(&revision); err != nil {
		return 0, err
	}
	rows, err := tx.Query(ctx, eachSQL)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var k Key
		var expires *time.Time
		if err := rows.Scan(&k.Key, &k.Value, &k.Created, &k.Revision, &expires); err != nil {
			return 0, err
		}
		if expires != nil {
			k.Expires = *expires
		}
		if err := f(k); err != nil {
			return 0, err
		}
	}
	return revision, rows.Err()
}

// Put implements Target. It replaces the rows between the previous page and the end of this one.
func (p *Postgres) Put(ctx context.Context, keys []Key) (changed int, err error) {
	last := keys[len(keys)-1].Key
	there, err := p.revisions(ctx, last)
	if err != nil {
		return 0, err
	}
	var missing []Key
	for _, k := range keys {
		if there[string(k.Key)] == k.Revision {
			delete(there, string(k.Key))
		} else {
			missing = append(missing, k)
		}
	}
	var batch pgx.Batch
	for _, revision := range there {
		batch.Queue("DELETE FROM triplane.kv WHERE revision = $1", revision)
		batch.Queue("DELETE FROM triplane.expiring WHERE revision = $1", revision)
	}
	for _, k := range missing {
		batch.Queue("INSERT INTO triplane.kv VALUES ($1, $2, $3, 0, $4)", k.Revision, k.Key, notNull(k.Value), k.Created)
		if !k.Expires.IsZero() {
			batch.Queue("INSERT INTO triplane.expiring VALUES ($1, $2, $3)", k.Revision, k.Key, k.Expires)
		}
	}
	p.from = last
	return len(missing), p.send(ctx, &batch)
}

// revisions returns those of the keys after the previous page up to last.
func (p *Postgres) revisions(ctx context.Context, last []byte) (map[string]int64, error) {
	from := p.from
	if from == nil {
		from = []byte{}
	}
	rows, err := p.conn.Query(ctx, "SELECT key, revision FROM triplane.kv WHERE key > $1 AND key <= $2", from, last)
	if err != nil {
		return nil, err
	}
	there := map[string]int64{}
	var key []byte
	var revision int64
	_, err = pgx.ForEachRow(rows, []any{&key, &revision}, func() error {
		there[string(key)] = revision
		return nil
	})
	return there, err
}

// send executes a batch in one transaction.
func (p *Postgres) send(ctx context.Context, batch *pgx.Batch) error {
	if batch.Len() == 0 {
		return nil
	}
	err := pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error { return tx.SendBatch(ctx, batch).Close() })
	if postgres.IsDuplicate(err) {
		return fmt.Errorf("%w: %w", errOrder, err)
	}
	return err
}

// Finish implements Target. It deletes the keys after the last page.
func (p *Postgres) Finish(ctx context.Context, revision int64) error {
	from := p.from
	if from == nil {
		from = []byte{}
	}
	if _, err := p.conn.Exec(ctx, "DELETE FROM triplane.kv WHERE key > $1", from); err != nil {
		return err
	}
	return postgres.FinishCopy(ctx, p.conn, revision)
}

// notNull returns a value that is not NULL, which would be a deletion.
func notNull(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
