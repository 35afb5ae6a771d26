package testserver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"triplane.dev/workspaces"
)

// WithWorkspaces serves Workspaces, and enables Server.Workspace.
func WithWorkspaces() Option {
	return func(s *settings) { s.options.Workspaces.Enabled = true }
}

// Workspace creates an empty workspace and returns an administrator's client configuration for it: a separate API
// server for a test that runs in parallel with others. It is deleted at the end of t. The server must have
// been started with WithWorkspaces.
func (s *Server) Workspace(t testing.TB) *rest.Config {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatalf("testserver: %v", err)
	}
	all := client.Resource(workspaces.GroupVersion.WithResource(workspaces.Plural))
	w := &unstructured.Unstructured{}
	w.SetGroupVersionKind(workspaces.GroupVersion.WithKind("Workspace"))
	w.SetGenerateName("test-")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if w, err = all.Create(ctx, w, metav1.CreateOptions{}); err != nil {
		t.Fatalf("testserver: workspace: %v", err)
	}
	t.Cleanup(func() {
		if err := deleteWorkspace(all, w.GetName()); err != nil {
			t.Errorf("testserver: workspace %s: %v", w.GetName(), err)
		}
	})
	return s.InWorkspace(w.GetName())
}

// InWorkspace returns an administrator's client configuration for an existing workspace.
func (s *Server) InWorkspace(name string) *rest.Config {
	config := s.Config()
	config.Host = strings.TrimSuffix(config.Host, "/") + workspaces.URLPath(name)
	return config
}

// deleteWorkspace deletes a workspace and returns when its objects are deleted.
func deleteWorkspace(all dynamic.ResourceInterface, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := all.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := all.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, errors.Join(err)
	})
}
