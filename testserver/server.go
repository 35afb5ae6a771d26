package testserver

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane"
)

// patience is how long is waited for anything that the server does by itself.
const patience = 30 * time.Second

// Server is a running server of a test. Its methods fail the test where they cannot do what
// they are for; they are for the goroutine of the test, but for Config and TLSConfig.
type Server struct {
	t     testing.TB
	app   *triplane.Server
	admin *rest.Config
	start *triplane.Checkpoint
}

// Start returns a server that is ready. It is stopped after the cleanups that the test
// registers later.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	given := newSettings(t.TempDir(), opts)
	ctx, cancel := context.WithCancel(context.Background()) // the test's own ends before its cleanups
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
	if given.makesAccounts() {
		s.awaitAccount()
	}
	if len(given.crds) > 0 {
		s.InstallCRDs(given.crds...)
	}
	if s.start, err = run.Checkpoint(ctx); err != nil {
		t.Fatalf("testserver: %v", err)
	}
	return s
}

// Config is an administrator's client configuration that calls the server's handlers without
// a socket. It works in this process only, and costs the least. Port-forwarding and the like,
// which take over a connection, need TLSConfig.
func (s *Server) Config() *rest.Config {
	config := s.app.ClientConfig()
	// What a client that says nothing has: those of custom resources cannot use protobuf.
	config.ContentConfig, config.UserAgent = rest.ContentConfig{}, ""
	return config
}

// TLSConfig is an administrator's client configuration over TLS, without limits on its rate.
func (s *Server) TLSConfig() *rest.Config { return unlimited(s.admin) }

// Kubeconfig is the path of the administrator's kubeconfig, for programs such as kubectl. It
// goes away with the test.
func (s *Server) Kubeconfig() string { return s.app.Kubeconfig() }

// Reset drops all objects that are not those of the start, brings those back that are gone,
// and undoes their changes, definitions of custom resources included. Nobody is asked: neither
// finalizers nor admission. Clients that watch see it as ordinary changes.
func (s *Server) Reset() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.app.Restore(ctx, s.start); err != nil {
		s.t.Fatalf("testserver: %v", err)
	}
}

// User is somebody with a certificate of the server's authority.
type User struct {
	Name   string
	Groups []string

	config     *rest.Config
	kubeconfig string
}

// Config is the user's client configuration, over TLS.
func (u *User) Config() *rest.Config { return unlimited(u.config) }

// Kubeconfig is the path of the user's kubeconfig, which goes away with the test.
func (u *User) Kubeconfig() string { return u.kubeconfig }

// AddUser returns a new user, who may do what RBAC allows the name and the groups:
// everything in the group system:masters. The group system:authenticated is a matter of course.
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

// unlimited is a copy of a configuration in which the client does not slow down by itself.
func unlimited(config *rest.Config) *rest.Config {
	copied := rest.CopyConfig(config)
	copied.QPS = -1
	return copied
}

// awaitAccount returns when the namespace default has its service account, without which it
// takes no pods.
func (s *Server) awaitAccount() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		s.t.Fatalf("testserver: %v", err)
	}
	w, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=default"})
	if err != nil {
		s.t.Fatalf("testserver: %v", err)
	}
	defer w.Stop()
	if e := <-w.ResultChan(); e.Type != watch.Added {
		s.t.Fatalf("testserver: the namespace default has no service account: %s %v", e.Type, e.Object)
	}
}
