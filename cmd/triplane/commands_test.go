package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev"
	"triplane.dev/kubeapi/controllers"
)

// The server of an export has the service ranges of the data directory's server.
func TestExportKnowsTheRanges(t *testing.T) {
	const ranges = "10.9.0.0/16"
	dir := t.TempDir()
	start := func() *triplane.Server {
		t.Helper()
		o := triplane.NewOptions()
		o.DataDir, o.SecureServing.BindPort, o.Kube.ServiceClusterIPs = dir, 0, ranges
		o.Controllers.Selection = []string{controllers.None}
		s, err := triplane.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := start().Stop(); err != nil {
		t.Fatal(err)
	}
	if err := exportObjects(t.Context(), []string{"-", "--data-dir", dir, "--service-cluster-ip-range", ranges}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	s := start()
	events, err := kubernetes.NewForConfigOrDie(s.ClientConfig()).CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(events.Items) > 0 {
		t.Errorf("events %v, %v", events.Items, err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// The status contains the failed check, however many checks pass before it.
func TestStatusOfFailingChecks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, strings.Repeat("[+]poststarthook/some ok\n", 200)+"[-]shutdown failed: reason withheld\nreadyz check failed\n")
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %s}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := showStatus(t.Context(), []string{"--kubeconfig", kubeconfig}, &out); err == nil || !strings.Contains(out.String(), "no: shutdown failed") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
