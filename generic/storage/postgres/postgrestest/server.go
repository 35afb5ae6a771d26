//go:build unix

package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"triplane.dev/internal/freeport"
)

// ErrMissing means that there is no PostgreSQL and that none can be installed.
var ErrMissing = errors.New("the tests of PostgreSQL need its server: install it (Debian and Ubuntu: apt-get install " +
	"postgresql), or set PG_BINDIR to the directory of initdb and postgres")

// Server is a PostgreSQL server with a data directory in the temporary directory. It listens on the loopback address.
type Server struct {
	dir     string // parent of the data directory
	bin     string
	port    int
	options []string
	account *syscall.Credential // nil for the user of the test
	cmd     *exec.Cmd
	made    int // databases
}

// patience bounds the start of a server.
const patience = 60 * time.Second

// New initializes and starts a server. options are settings, "NAME=VALUE".
func New(options ...string) (*Server, error) {
	s, err := prepared(options)
	if err != nil {
		return nil, err
	}
	err = s.run("initdb", "-D", s.data(), "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Start starts a server and skips the test, or fails it, if there is no PostgreSQL: see Need. The end of the test
// stops it.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	s, err := New(options...)
	Need(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Need ends a test if err is not nil. ErrMissing skips it.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrMissing):
		t.Skip("SKIPPED: ", err)
	case err != nil:
		t.Fatal(err)
	}
}

// prepared returns a server without a data directory.
func prepared(options []string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, options: options}
	if s.dir, err = os.MkdirTemp("", "postgres"); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // the server refuses to run as root
		if s.account, err = account(); err != nil {
			return nil, err
		}
		if err := os.Chown(s.dir, int(s.account.Uid), int(s.account.Gid)); err != nil {
			return nil, err
		}
	}
	s.port, err = freeport.Take()
	return s, err
}

// account returns the unprivileged user that runs the server.
func account() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command returns a command of the installation.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Dir = s.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "PG") }),
		"LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account, Setpgid: true}
	return cmd
}

func (s *Server) run(program string, args ...string) error {
	if out, err := s.command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// Start starts a server that was stopped or killed, and waits until it accepts connections.
func (s *Server) Start() error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "logging_collector=off"}
	for _, o := range s.options {
		args = append(args, "-c", o)
	}
	s.cmd = s.command("postgres", args...)
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err = s.Exec(context.Background(), "postgres", "SELECT 1"); err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the server does not start: %w\n%s", err, s.Log())
		}
	}
}

// Log returns what the server logged since its last start.
func (s *Server) Log() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Stop shuts the server down, which ends all sessions. Kill ends it like a crash.
func (s *Server) Stop() { s.signal(syscall.SIGINT) }

// Kill ends the server and its sessions at once.
func (s *Server) Kill() { s.signal(syscall.SIGQUIT) }

// signal ends the server with a signal.
func (s *Server) signal(how syscall.Signal) {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(how) // or it has ended already
	_ = s.cmd.Wait()              // how it ended does not matter
	s.cmd = nil
}

// Pause stops the processes of the server until Resume.
func (s *Server) Pause() error { return s.toAll(syscall.SIGSTOP) }

// Resume continues a paused server.
func (s *Server) Resume() error { return s.toAll(syscall.SIGCONT) }

// toAll sends a signal to the server and its sessions, each of which is a process.
func (s *Server) toAll(how syscall.Signal) error {
	processes := []int{s.cmd.Process.Pid}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
	if err != nil {
		return err
	}
	for _, file := range tasks {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		processes = append(processes, fields(string(b))...)
	}
	for _, pid := range processes {
		if err := syscall.Kill(pid, how); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// Close stops the server and deletes its directory.
func (s *Server) Close() error {
	s.Kill()
	return os.RemoveAll(s.dir)
}

// PID returns the process that started all others of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Host returns the address of the server.
func (s *Server) Host() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the URL of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", s.Host(), database)
}

// Database creates a database and returns its URL.
func (s *Server) Database() (string, error) {
	s.made++
	name := "d" + strconv.Itoa(s.made)
	return s.URL(name), s.Exec(context.Background(), "postgres", "CREATE DATABASE "+name)
}

// Exec executes statements in a database.
func (s *Server) Exec(ctx context.Context, database string, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return errors.Join(err, conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}

// Standby starts a second server that replicates this one. Promote ends the replication.
func (s *Server) Standby() (*Server, error) {
	standby, err := prepared(s.options)
	if err != nil {
		return nil, err
	}
	err = standby.run("pg_basebackup", "-D", standby.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(s.port),
		"-U", "postgres", "-R", "-c", "fast", "--no-sync")
	if err == nil {
		err = standby.Start()
	}
	if err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	return standby, nil
}

// Synchronize makes commits wait for a standby, and waits until one follows synchronously. What a server without a
// standby commits then waits for one.
func (s *Server) Synchronize(ctx context.Context) error {
	err := s.Exec(ctx, "postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
	for end := time.Now().Add(patience); err == nil; time.Sleep(20 * time.Millisecond) {
		err := s.Exec(ctx, "postgres", "SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("no standby follows: %w\n%s", err, s.Log())
		}
	}
	return err
}

// Alone makes commits wait for no standby.
func (s *Server) Alone(ctx context.Context) error {
	return s.Exec(ctx, "postgres", "ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()")
}

// Promote makes a standby accept writes.
func (s *Server) Promote() error { return s.run("pg_ctl", "-D", s.data(), "-w", "promote") }
