package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

// Backend implements storage.Backend with a database.
type Backend struct {
	pool    *pgxpool.Pool
	writer  *writer
	poller  *poller
	counts  counts
	running worker.Group
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
}

var _ storage.Backend = (*Backend)(nil)

const (
	attemptTimeout = 10 * time.Second
	firstPause     = 50 * time.Millisecond
	longestPause   = 2 * time.Second
)

// Open connects to the database, creates or migrates its schema, and starts to follow it. It retries until the timeout
// while the database cannot be reached.
func Open(ctx context.Context, c Config) (*Backend, error) {
	config, err := parse(c)
	if err != nil {
		return nil, err
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if err := await(ctx, config.ConnConfig, c.Timeout); err != nil {
		return nil, err
	}
	config.AfterConnect = prepare
	b := &Backend{}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	if b.pool, err = pgxpool.NewWithConfig(b.ctx, config); err != nil {
		b.cancel()
		return nil, err
	}
	b.writer = &writer{backend: b, timeout: writeTimeout}
	b.poller = newPoller(b)
	b.running.Keep(b.ctx, b.poller.run)
	b.running.Keep(b.ctx, func(ctx context.Context) { b.listen(ctx, config.ConnConfig) })
	if _, err := b.Revision(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("PostgreSQL at %s: %w", servers(config.ConnConfig), err), b.Close())
	}
	return b, nil
}

// Close ends all calls and watches, and closes the connections.
func (b *Backend) Close() error {
	b.cancel()
	b.running.Wait()
	b.pool.Close()
	return nil
}

// await migrates the schema. It retries while the database cannot be reached.
func await(ctx context.Context, config *pgx.ConnConfig, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var cause error // of the last attempt that the timeout did not end
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		final, err := attempt(ctx, config)
		if err == nil {
			return nil
		}
		if final {
			return fmt.Errorf("PostgreSQL at %s: %w", servers(config), err)
		}
		if cause == nil || ctx.Err() == nil {
			cause = err
		}
		if ctx.Err() == nil {
			klog.InfoS("Waiting for PostgreSQL", "servers", servers(config), "err", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("PostgreSQL at %s cannot be used within %v: %w", servers(config), timeout, cause)
		}
	}
}

// attempt connects and migrates the schema. final reports that a retry is of no use.
func attempt(ctx context.Context, config *pgx.ConnConfig) (final bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		if fatal := unusable(err); fatal != nil {
			return true, oneLine{fatal}
		}
		return false, oneLine{err}
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is pending
	if err := supported(ctx, conn); err != nil {
		return true, err
	}
	err = migrate(ctx, conn)
	return err != nil && !conn.IsClosed(), err
}

// oldest is the oldest version of PostgreSQL with all settings and functions that are used.
const oldest = 140000

// supported returns an error if the server is too old, or an engine on which locks have no effect. It warns about
// settings with which acknowledged writes can be lost.
func supported(ctx context.Context, conn *pgx.Conn) error {
	var name, number, fsync, commit string
	err := conn.QueryRow(ctx, `SELECT version(), current_setting('server_version_num'), coalesce(current_setting('fsync',
		true), 'on'), coalesce(current_setting('synchronous_commit', true), 'on')`).Scan(&name, &number, &fsync, &commit)
	switch {
	case err != nil:
		return err
	case strings.Contains(name, "CockroachDB"):
		return errors.New("CockroachDB is not supported: its advisory locks have no effect, so that writes have no order")
	case len(number) < 6 || number < fmt.Sprint(oldest):
		return fmt.Errorf("%s is not supported: PostgreSQL %d or newer is required", name, oldest/10000)
	case fsync == "off" || commit == "off":
		klog.InfoS("PostgreSQL acknowledges writes before they are on disk: a crash loses them", "fsync", fsync,
			"synchronous_commit", commit)
	}
	return nil
}

// servers returns the addresses of a configuration.
func servers(c *pgx.ConnConfig) string {
	addresses := []string{fmt.Sprintf("%s:%d", c.Host, c.Port)}
	for _, f := range c.Fallbacks {
		if a := fmt.Sprintf("%s:%d", f.Host, f.Port); a != addresses[len(addresses)-1] {
			addresses = append(addresses, a)
		}
	}
	return strings.Join(addresses, ",") + "/" + c.Database
}
