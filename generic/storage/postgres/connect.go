package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"k8s.io/klog/v2"
)

// Codes of errors, SQLSTATE.
const (
	codeNoPrivilege  = "42501"
	codeNoFunction   = "42883"
	codeNoTable      = "42P01"
	codeNoSchema     = "3F000"
	codeNoDatabase   = "3D000"
	codeUnsupported  = "0A000"
	codeWrongState   = "55000" // the server is a standby
	codeReadOnly     = "25006"
	codeDiskFull     = "53100"
	codeDuplicate    = "23505"
	codeProgramLimit = "54000" // a row of an index is too large
)

// hasCode reports whether err is an error of the server with one of the codes.
func hasCode(err error, codes ...string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && slices.Contains(codes, pgErr.Code)
}

// limits ends statements of clients that have vanished, on servers that support it.
const limits = `SELECT set_config(name, value, false) FROM (VALUES ('transaction_timeout', '60s'),
	('client_connection_check_interval', '5s')) l(name, value) WHERE current_setting(name, true) IS NOT NULL`

// identity is the system identifier of the server, which a restore of a dump changes, and its timeline, which a
// promotion and a restore of a backup change.
const identity = `(SELECT system_identifier FROM pg_control_system()) || '/' ||
	substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`

// prepare is called for each new session.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, limits); err != nil && conn.IsClosed() {
		return err
	}
	var gap bool
	err := conn.QueryRow(ctx, "SELECT triplane.adopt("+identity+")").Scan(&gap)
	if hasCode(err, codeNoPrivilege, codeNoFunction, codeUnsupported) {
		err = conn.QueryRow(ctx, "SELECT triplane.adopt('unknown')").Scan(&gap)
	}
	if hasCode(err, codeWrongState, codeReadOnly) {
		return fmt.Errorf("the server is a standby or read-only: %w", err)
	}
	if err == nil && gap {
		klog.InfoS("PostgreSQL was promoted or restored, continuing after a gap of revisions: all clients list again")
	}
	return err
}

// dialer connects to a server.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// connection is a connection to a server. The driver asks the server, at its remote address, to cancel the statement of
// a connection that fails.
type connection struct {
	net.Conn
	committing atomic.Bool // a statement writes: do not cancel it
}

// nowhere is the remote address while a statement writes.
type nowhere struct{}

func (nowhere) Network() string { return "none" }

func (nowhere) String() string { return "none" }

// RemoteAddr implements net.Conn.
func (c *connection) RemoteAddr() net.Addr {
	if c.committing.Load() {
		return nowhere{}
	}
	return c.Conn.RemoteAddr()
}

// connections wraps the connections of a dialer.
func connections(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if network == (nowhere{}).Network() {
			return nil, errors.New("a write is not cancelled")
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &connection{Conn: conn}, nil
	}
}

// protect sets whether the statement of a connection writes. While the commit waits for a synchronous standby, a
// cancellation makes the transaction visible without that standby: a failover would lose what readers have seen.
func protect(conn *pgx.Conn, writes bool) {
	under := conn.PgConn().Conn()
	if secure, is := under.(*tls.Conn); is {
		under = secure.NetConn()
	}
	if c, is := under.(*connection); is {
		c.committing.Store(writes)
	}
}
