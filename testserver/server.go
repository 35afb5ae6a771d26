package testserver

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"triplane.dev"
)

// patience is the timeout of all waits.
const patience = 30 * time.Second

// Server is a running server of a test. Its methods fail the test on errors. Only Config and TLSConfig may be
// called from other goroutines than the test's.
type Server struct {
	t     testing.TB
	app   *triplane.Server
	admin *rest.Config
	start *triplane.Checkpoint
}

// Start returns a ready server. It is stopped after cleanups that the test registers later.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	given := newSettings(t.TempDir(), opts)
	ctx, cancel := context.WithCancel(context.Background()) // the test's context is done before its cleanups run
	run, err := triplane.Start(ctx, given.options)
	if err != nil {
		cancel()
		t.Fatalf("testserver: %v", err)
	}
	t.Cleanup(func() {
		defer cancel()
		if err := run.Stop(); err != nil {
			t.Errorf("testserver: %v", err)
		}
	})
	s := &Server{t: t, app: run}
	if s.admin, err = run.AdminConfig(); err != nil {
		t.Fatalf("testserver: %v", err)
	}
	within, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if err := run.AwaitDefaultAccount(within); err != nil {
		t.Fatalf("testserver: the namespace default has no service account: %v", err)
	}
	if len(given.crds) > 0 {
		s.InstallCRDs(given.crds...)
	}
	if s.start, err = run.Checkpoint(ctx); err != nil {
		t.Fatalf("testserver: %v", err)
	}
	return s
}

// Config returns an administrator's client configuration that calls the server's handlers without a socket. It
// works only in this process, and is the fastest. Connections that are taken over, for example by port-forward,
// need TLSConfig.
func (s *Server) Config() *rest.Config {
	config := s.app.ClientConfig()
	// Reset to client-go's defaults, because clients of custom resources do not support protobuf.
	config.ContentConfig, config.UserAgent = rest.ContentConfig{}, ""
	return config
}

// TLSConfig returns an administrator's client configuration over TLS, without a rate limit.
func (s *Server) TLSConfig() *rest.Config { return unlimited(s.admin) }

// Kubeconfig returns the path of the administrator's kubeconfig, for programs such as kubectl. The file is deleted
// at the end of the test.
func (s *Server) Kubeconfig() string { return s.app.Kubeconfig() }

// Reset restores all objects of the start, including CustomResourceDefinitions: it deletes later ones, recreates
// deleted ones and reverts changes. It bypasses finalizers and admission. Watches receive ordinary events.
func (s *Server) Reset() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.app.Restore(ctx, s.start); err != nil {
		s.t.Fatalf("testserver: %v", err)
	}
}

// User is a user with a certificate of the server's CA.
type User struct {
	Name   string
	Groups []string

	config     *rest.Config
	kubeconfig string
}

// Config returns the user's client configuration, over TLS.
func (u *User) Config() *rest.Config { return unlimited(u.config) }

// Kubeconfig returns the path of the user's kubeconfig, which is deleted at the end of the test.
func (u *User) Kubeconfig() string { return u.kubeconfig }

// AddUser returns a new user with the permissions that RBAC grants to the name and the groups; system:masters may
// do everything. The group system:authenticated is added automatically.
func (s *Server) AddUser(name string, groups ...string) *User {
	s.t.Helper()
	u := &User{Name: name, Groups: groups, kubeconfig: filepath.Join(s.t.TempDir(), "kubeconfig")}
	var err error
	if u.config, err = s.app.UserConfig(name, groups...); err != nil {
		s.t.Fatalf("testserver: user %s: %v", name, err)
	}
	content, err := kubeconfig(u.config)
	if err == nil {
		err = os.WriteFile(u.kubeconfig, content, 0o600)
	}
	if err != nil {
		s.t.Fatalf("testserver: user %s: %v", name, err)
	}
	return u
}

// unlimited returns a copy of a configuration without a client-side rate limit.
func unlimited(config *rest.Config) *rest.Config {
	copied := rest.CopyConfig(config)
	copied.QPS = -1
	return copied
}
