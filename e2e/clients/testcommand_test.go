// The command "triplane test": its line of JSON, its end with its parent, and checkpoints over HTTP.

package clients

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev/e2e/harness"
)

// testServer is a running "triplane test".
type testServer struct {
	*exec.Cmd
	in    io.WriteCloser
	temp  string // the directory of temporary files
	ended chan error

	URL, Token, Kubeconfig, KubeconfigFile string
}

// startTest starts "triplane test". It reads the line of JSON.
func startTest(t *testing.T, args ...string) *testServer {
	t.Helper()
	built, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	return startTestBy(t, exec.Command(built.Triplane, append([]string{"test"}, args...)...))
}

func startTestBy(t *testing.T, cmd *exec.Cmd) *testServer {
	t.Helper()
	s := &testServer{Cmd: cmd, temp: t.TempDir(), ended: make(chan error, 1)}
	s.Env = append(os.Environ(), "TMPDIR="+s.temp)
	var log strings.Builder
	s.Stderr = &log
	var err error
	if s.in, err = s.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadBytes('\n')
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		s.ended <- s.Wait()
	}()
	t.Cleanup(func() {
		_ = s.Process.Kill() // or it has ended
	})
	if err == nil {
		err = json.Unmarshal(line, s)
	}
	if err != nil {
		ended := <-s.ended // the log is complete after it
		t.Fatalf("%q: %v; the server ended: %v\n%s", line, err, ended, log.String())
	}
	return s
}

func (s *testServer) client(t *testing.T) (*rest.Config, *kubernetes.Clientset) {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(s.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	return config, kubernetes.NewForConfigOrDie(config)
}

// awaitEnd fails the test unless the server ends without an error, and leaves no file.
func (s *testServer) awaitEnd(t *testing.T) {
	t.Helper()
	select {
	case err := <-s.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the server did not end")
	}
	if left, err := os.ReadDir(s.temp); err != nil || len(left) > 0 {
		t.Errorf("the server left %v, %v", left, err)
	}
}

func TestTestCommandEndsWithItsStandardInput(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	s := startTest(t, "--kubeconfig", kubeconfig)
	content, err := os.ReadFile(kubeconfig)
	if err != nil || string(content) != s.Kubeconfig || s.KubeconfigFile != kubeconfig {
		t.Errorf("the kubeconfig of the line is not that of the file: %v", err)
	}
	if _, err := os.Stat(".triplane"); err == nil {
		t.Error("there is a data directory")
	}
	config, _ := s.client(t)
	config.CertData, config.KeyData, config.BearerToken = nil, nil, s.Token
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("kube-system").
		List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the token is not an administrator's: %v", err)
	}
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(t)
	if _, err := os.Stat(kubeconfig); err == nil {
		t.Error("the kubeconfig is left")
	}
}

func TestTestCommandEndsWithASignal(t *testing.T) {
	s := startTest(t)
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(t)
}

// The shell that started the server in the background is killed; the standard input of the server stays open.
func TestTestCommandEndsWithItsParent(t *testing.T) {
	built, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `"$0" test </dev/zero & wait`, built.Triplane)
	s := startTestBy(t, cmd)
	_, client := s.client(t)
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, func() error {
		if _, err := client.ServerVersion(); err == nil {
			return os.ErrExist
		}
		if left, err := os.ReadDir(s.temp); err != nil || len(left) > 0 {
			return os.ErrExist
		}
		return nil
	})
}

func createMap(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A reset deletes and restores objects, for reads from caches and for open watches, whatever controllers do.
func TestCheckpoints(t *testing.T) {
	s := startTest(t)
	_, client := s.client(t)
	post := func(path string) []byte {
		t.Helper()
		body, err := client.RESTClient().Post().AbsPath(path).DoRaw(t.Context())
		if err != nil {
			t.Fatalf("%s: %v %s", path, err, body)
		}
		return body
	}
	createMap(t, client, "before")
	var saved struct{ ID string }
	if err := json.Unmarshal(post("/testing/checkpoints"), &saved); err != nil || saved.ID == "" {
		t.Fatal(saved, err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "later"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=after"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	createMap(t, client, "after")
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	post("/testing/checkpoints/" + saved.ID + "/reset")
	for _, wanted := range []watch.EventType{watch.Added, watch.Deleted} {
		if e := <-w.ResultChan(); e.Type != wanted {
			t.Errorf("the watch received %v, want %v", e.Type, wanted)
		}
	}
	cached := metav1.GetOptions{ResourceVersion: "0"}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "before", cached); err != nil {
		t.Error(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "after", cached); !apierrors.IsNotFound(err) {
		t.Errorf("after: %v", err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "later", cached); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
	post("/testing/checkpoints/start/reset")
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "before", cached); !apierrors.IsNotFound(err) {
		t.Errorf("before, after the reset to the start: %v", err)
	}
	for path, wanted := range map[string]int{
		"/testing/checkpoints/none/reset": http.StatusNotFound, "/testing/checkpoints?id=a/b": http.StatusBadRequest,
		"/testing/checkpoints/start":       http.StatusMethodNotAllowed,
		"/testing/checkpoints/start/other": http.StatusNotFound,
	} {
		var status apierrors.APIStatus
		err := client.RESTClient().Post().RequestURI(path).Do(t.Context()).Error()
		if !errors.As(err, &status) || int(status.Status().Code) != wanted {
			t.Errorf("%s: %v, want %d", path, err, wanted)
		}
	}
}

// A role with all paths does not allow checkpoints, and a server that is not one for tests has none.
func TestCheckpointsAreForAdministrators(t *testing.T) {
	s := startTest(t)
	config, client := s.client(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "paths"},
		Rules: []rbacv1.PolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}}}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "paths"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "paths"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}}}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "jane"}
	jane := kubernetes.NewForConfigOrDie(as)
	harness.Eventually(t, func() error { // RBAC knows the binding
		return jane.RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Error()
	})
	for _, path := range []string{"/testing/checkpoints", "/testing/checkpoints/start/reset"} {
		if err := jane.RESTClient().Post().AbsPath(path).Do(t.Context()).Error(); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	ordinary := harness.Start(t)
	err := kubernetes.NewForConfigOrDie(ordinary.Config).RESTClient().Post().AbsPath("/testing/checkpoints").
		Do(t.Context()).Error()
	if !apierrors.IsNotFound(err) {
		t.Errorf("an ordinary server: %v", err)
	}
}
