package harness

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// Workspace creates a workspace in a server with --workspaces. It returns the server as clients of the workspace
// see it: Kubeconfig and Config have the URL in its status.
func (s *Server) Workspace(t testing.TB, name string) *Server {
	t.Helper()
	s.KubectlIn(t, `{"apiVersion": "workspaces.triplane.dev/v1alpha1", "kind": "Workspace", "metadata": {"name": "`+name+`"}}`,
		"create", "-f", "-")
	s.Kubectl(t, "wait", "--for=condition=Ready", "workspace/"+name, "--timeout=30s")
	kubeconfig, err := clientcmd.LoadFromFile(s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range kubeconfig.Clusters {
		cluster.Server = s.Kubectl(t, "get", "workspace", name, "-o", "jsonpath={.status.url}")
	}
	w := *s
	w.probe = nil // of another URL
	w.Kubeconfig = filepath.Join(t.TempDir(), name+".kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, w.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	if w.Config, err = clientcmd.BuildConfigFromFlags("", w.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	w.Config.QPS, w.Config.Burst = s.Config.QPS, s.Config.Burst
	return &w
}
