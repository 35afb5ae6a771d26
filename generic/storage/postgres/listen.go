package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/klog/v2"
)

const (
	// listenCheck is the time without a notification after which the connection is checked.
	listenCheck = 15 * time.Second
	listenPause = 500 * time.Millisecond
)

// listen passes the notifications of writes to the poller, until ctx ends. Without them the poller polls often.
func (b *Backend) listen(ctx context.Context, config *pgx.ConnConfig) {
	for logged := false; ctx.Err() == nil; {
		heard, err := b.listenOnce(ctx, config)
		b.poller.listening.Store(false)
		if ctx.Err() != nil {
			return
		}
		if heard || !logged {
			klog.InfoS("Lost the notifications of PostgreSQL, polling it instead", "interval", blindInterval, "err", err)
		}
		logged = true
		b.poller.kick()
		select {
		case <-time.After(listenPause):
		case <-ctx.Done():
		}
	}
}

// listenOnce listens until the connection fails. heard reports whether it listened.
func (b *Backend) listenOnce(ctx context.Context, config *pgx.ConnConfig) (heard bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // nothing is pending
	}()
	if _, err := conn.Exec(ctx, "LISTEN triplane"); err != nil {
		return false, err
	}
	b.poller.listening.Store(true)
	b.poller.kick() // for what was missed
	for {
		waiting, cancel := context.WithTimeout(ctx, listenCheck)
		n, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			revision, _ := strconv.ParseInt(n.Payload, 10, 64) // 0 for a payload of another program
			if !b.writer.executes(n.PID) {
				b.poller.notify(revision)
			}
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !conn.IsClosed():
			if err := check(ctx, conn); err != nil {
				return true, err
			}
		default:
			return true, err
		}
	}
}

// check returns an error unless the server responds.
func check(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	return conn.Ping(ctx)
}
