package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Config configures the connection to a database.
type Config struct {
	// URL is a connection URI of libpq, "postgres://user@host1,host2/database?sslmode=verify-full". What it omits comes
	// from the environment (PGPASSWORD, PGPASSFILE, PGSSLROOTCERT, PGSERVICE …), as in libpq.
	URL string
	// Timeout is how long Open retries. It defaults to 20 seconds.
	Timeout time.Duration
	// Dial connects to the servers; nil connects directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	defaultTimeout = 20 * time.Second
	// connectTimeout limits the attempt to connect to one server, unless the URL has connect_timeout.
	connectTimeout = 5 * time.Second
	// maxConns is the size of the pool, unless the URL has pool_max_conns. One more connection listens.
	maxConns = 10
)

// IsURL reports whether s is a URL of a PostgreSQL database.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// CheckURL returns an error if a URL cannot be parsed. The error does not contain a password.
func CheckURL(url string) error {
	_, err := pgxpool.ParseConfig(url)
	return parseError(err)
}

// parseError returns the cause of an error of ParseConfig without the URL, which may contain a password.
func parseError(err error) error {
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		return fmt.Errorf("cannot parse the PostgreSQL URL: %w", cmp.Or(parse.Unwrap(), errors.New("invalid syntax")))
	}
	return err
}

// Redact replaces the password of a URL.
func Redact(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	query := ""
	if at := strings.IndexByte(rest, '?'); at >= 0 {
		rest, query = rest[:at], rest[at:]
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if user, _, has := strings.Cut(rest[:at], ":"); has {
			rest = user + ":xxxxx" + rest[at:]
		}
	}
	params := strings.Split(query, "&")
	for i, p := range params {
		name, _, _ := strings.Cut(strings.TrimPrefix(p, "?"), "=")
		if name == "password" || name == "sslpassword" {
			params[i] = p[:strings.IndexByte(p+"=", '=')] + "=xxxxx"
		}
	}
	return scheme + "://" + rest + strings.Join(params, "&")
}

// parse returns the configuration of the pool.
func parse(c Config) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, parseError(err)
	}
	if !strings.Contains(c.URL, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	conn := config.ConnConfig
	conn.ConnectTimeout = cmp.Or(conn.ConnectTimeout, connectTimeout)
	if conn.ValidateConnect == nil {
		conn.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	for name, value := range sessionParams {
		if _, set := conn.RuntimeParams[name]; !set {
			conn.RuntimeParams[name] = value
		}
	}
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
	}
	conn.DialFunc = pgconn.DialFunc(connections(dial))
	return config, nil
}

// sessionParams are the settings of all sessions. The function write needs a snapshot for each statement. Keep-alives
// let the server end sessions whose client has vanished, which may hold the lock of writes. All statements read by
// indexes, in their order: with a generic plan the planner would otherwise sort all keys for each page of a list.
var sessionParams = map[string]string{
	"application_name":              "triplane",
	"enable_bitmapscan":             "off",
	"enable_seqscan":                "off",
	"enable_sort":                   "off",
	"jit":                           "off",
	"default_transaction_isolation": "read committed",
	"tcp_keepalives_idle":           "10",
	"tcp_keepalives_interval":       "3",
	"tcp_keepalives_count":          "3",
}

// keepAlive detects servers that have vanished while a response is awaited.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}
