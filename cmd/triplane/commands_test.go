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
	"k8s.io/client-go/tools/clientcmd"

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

// The command workspace creates, lists and deletes workspaces, and prints a kubeconfig that reaches one.
func TestWorkspaces(t *testing.T) {
	o := triplane.NewOptions()
	o.DataDir, o.SecureServing.BindPort, o.Etcd.Memory, o.Workspaces.Enabled = t.TempDir(), 0, true, true
	o.Controllers.Selection = []string{controllers.None}
	s, err := triplane.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	run := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := manageWorkspaces(t.Context(), append(args, "--data-dir", o.DataDir), &out); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out.String()
	}
	if got := run("create", "blue", "--admin", "alice"); !strings.Contains(got, "/workspaces/blue") {
		t.Errorf("create: %s", got)
	}
	if got := run("list"); !strings.Contains(got, "blue") || !strings.Contains(got, "True") {
		t.Errorf("list: %s", got)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(run("kubeconfig", "blue")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	run("delete", "blue")
	if got := run("list"); strings.Contains(got, "blue") {
		t.Errorf("list after the deletion: %s", got)
	}
	for _, wrong := range [][]string{{"create"}, {"list", "blue"}, {"rename", "blue"}, {"create", "Blue"}} {
		if err := manageWorkspaces(t.Context(), append(wrong, "--data-dir", o.DataDir), io.Discard); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
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

// A misspelt or superfluous argument is an error that names the help.
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"help", "keys", "status"}, "one command"},
		{[]string{"help", "nothing"}, "see triplane help"},
		{[]string{"version", "1"}, "takes no argument"},
		{[]string{"status", "now"}, "see triplane help status"},
		{[]string{"console", "now"}, "see triplane help console"},
		{[]string{"keys", "now"}, "see triplane help keys"},
		{[]string{"kubeconfig", "now"}, "see triplane help kubeconfig"},
		{[]string{"serve"}, "neither a flag nor a command"},
	} {
		if err := run("triplane", c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("triplane %s: %v, want %q", strings.Join(c.args, " "), err, c.want)
		}
	}
	for name := range commands {
		if name == "version" { // it has no flags
			continue
		}
		if err := run("triplane", []string{"help", name}); err != nil {
			t.Errorf("triplane help %s: %v", name, err)
		}
	}
}

// An import creates the data directory; an export from a missing one is an error.
func TestImportIntoANewDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := exportObjects(t.Context(), []string{"-", "--data-dir", dir}, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("export from a missing directory: %v", err)
	}
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\n"
	if err := importObjects(t.Context(), []string{"-", "--data-dir", dir}, strings.NewReader(object), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	var exported bytes.Buffer
	if err := exportObjects(t.Context(), []string{"-", "--data-dir", dir}, &exported, io.Discard); err != nil ||
		!strings.Contains(exported.String(), "name: a\n") {
		t.Errorf("export of what was imported: %v\n%s", err, &exported)
	}
	o := triplane.NewOptions()
	o.DataDir, o.SecureServing.BindPort = dir, 0
	s, err := triplane.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfigOrDie(s.ClientConfig()).CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// The keys are copied from a directory pki, and from the data directory that contains it.
func TestKeysFrom(t *testing.T) {
	first := t.TempDir()
	if err := makeKeys(t.Context(), []string{"--data-dir", first}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{first, filepath.Join(first, "pki")} {
		second := t.TempDir()
		if err := makeKeys(t.Context(), []string{"--data-dir", second, "--from", from}, io.Discard); err != nil {
			t.Fatal(err)
		}
		var keys [2][]byte
		for i, dir := range []string{first, second} {
			var err error
			if keys[i], err = os.ReadFile(filepath.Join(dir, "pki", "sa.key")); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(keys[0], keys[1]) {
			t.Errorf("keys from %s differ", from)
		}
	}
	if err := makeKeys(t.Context(), []string{"--data-dir", t.TempDir(), "--from", t.TempDir()}, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "--from takes the directory pki") {
		t.Errorf("keys from an empty directory: %v", err)
	}
}
