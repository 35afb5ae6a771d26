// The built program: kills during writes, work that is due after a kill, and the export and import of one workspace, all
// with encryption at rest.
package workspaces

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// encrypted returns the flag of a configuration that encrypts all resources.
func encrypted(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	content := `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: ["*.*"], providers:
		[{aesgcm: {keys: [{name: one, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}}]}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--encryption-provider-config=" + file
}

// writer creates config maps in a workspace, until it is stopped or the server is killed, and knows those that were
// acknowledged.
type writer struct {
	name         string
	config       *kubernetes.Clientset
	mu           sync.Mutex
	acknowledged []string
}

func (w *writer) write(ctx context.Context, round int) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s-%d-%d", w.name, round, i)
		if _, err := w.config.CoreV1().ConfigMaps("default").Create(ctx, settings(name), metav1.CreateOptions{}); err != nil {
			return
		}
		w.mu.Lock()
		w.acknowledged = append(w.acknowledged, name)
		w.mu.Unlock()
	}
}

// Three kills during writes in four workspaces, some of which sleep and wake, lose nothing that was acknowledged.
func TestKillsLoseNothing(t *testing.T) {
	s := harness.Start(t, "--workspaces", "--controllers=*", "--workspace-idle-timeout=1s", encrypted(t))
	var writers []*writer
	for _, name := range []string{"a", "b", "c", "d"} {
		writers = append(writers, &writer{name: name, config: kubernetes.NewForConfigOrDie(s.Workspace(t, name).Config)})
	}
	for round := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		var running sync.WaitGroup
		for i, w := range writers {
			running.Go(func() {
				if i == round { // this one begins late
					time.Sleep(300 * time.Millisecond)
				}
				w.write(ctx, round)
			})
		}
		time.Sleep(700 * time.Millisecond)
		s.Kill()
		cancel()
		running.Wait()
		s.Restart(t)
	}
	for _, w := range writers {
		all, err := w.config.CoreV1().ConfigMaps("default").List(bounded(t), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stored := map[string]bool{}
		for i := range all.Items {
			name := all.Items[i].Name
			if stored[name] = true; name != "kube-root-ca.crt" && !strings.HasPrefix(name, w.name+"-") {
				t.Errorf("%s of another workspace is in %s", name, w.name)
			}
		}
		lost := 0
		for _, name := range w.acknowledged {
			if !stored[name] {
				lost++
			}
		}
		if t.Logf("%d acknowledged writes in %s", len(w.acknowledged), w.name); lost > 0 || len(w.acknowledged) == 0 {
			t.Errorf("%d of %d acknowledged writes in %s are lost", lost, len(w.acknowledged), w.name)
		}
	}
}

// The work of a workspace that was awake when the server was killed is done after the restart, without a request.
func TestDueWorkAfterAKill(t *testing.T) {
	s := harness.Start(t, "--workspaces", "--controllers=*", "--workspace-idle-timeout=1s", encrypted(t))
	client := kubernetes.NewForConfigOrDie(s.Workspace(t, "a").Config)
	s.Workspace(t, "b") // never used
	finishJob(t, client)
	s.Kill()
	s.Restart(t)
	awake := func() bool {
		raw, err := kubernetes.NewForConfigOrDie(s.Config).RESTClient().Get().AbsPath("/metrics").Do(bounded(t)).Raw()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), `triplane_workspaces{state="awake"} 2`) {
			t.Fatal("a workspace without work is awake")
		}
		return strings.Contains(string(raw), `triplane_workspaces{state="awake"} 1`)
	}
	await(t, "the wake", func() (bool, error) { return awake(), nil })
	time.Sleep(later)
	await(t, "sleep after the work", func() (bool, error) { return !awake(), nil })
	if _, err := client.BatchV1().Jobs("default").Get(bounded(t), "expires", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the expired Job: %v", err)
	}
}

// A workspace is exported and imported like a server, into another workspace, and nothing of it is stored as plain text.
func TestTransferOfAWorkspace(t *testing.T) {
	s := harness.Start(t, "--workspaces", "--controllers=*", encrypted(t))
	from, to := s.Workspace(t, "from"), s.Workspace(t, "to")
	ctx := bounded(t)
	createWidgets(t, from.Config)
	if _, err := kubernetes.NewForConfigOrDie(from.Config).CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const secret = "what-nobody-reads-in-a-file"
	if _, err := kubernetes.NewForConfigOrDie(from.Config).CoreV1().Secrets("shop").Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": secret}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	from.KubectlIn(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"shop"},"spec":{"k":"`+secret+`"}}`,
		"create", "-f", "-")
	file := filepath.Join(t.TempDir(), "from.yaml")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(ctx, s.Programs.Triplane, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run("export", file, "--kubeconfig", from.Kubeconfig)
	run("import", file, "--kubeconfig", to.Kubeconfig)
	got, err := kubernetes.NewForConfigOrDie(to.Config).CoreV1().Secrets("shop").Get(ctx, "s", metav1.GetOptions{})
	if err != nil || string(got.Data["k"]) != secret {
		t.Errorf("the imported Secret: %v, %v", got, err)
	}
	if _, err := dynamic.NewForConfigOrDie(to.Config).Resource(widgets).Namespace("shop").Get(ctx, "w", metav1.GetOptions{}); err != nil {
		t.Errorf("the imported custom resource: %v", err)
	}
	all := rest.CopyConfig(s.Config)
	all.Host += "/workspaces/*"
	found, err := kubernetes.NewForConfigOrDie(all).CoreV1().Secrets("shop").List(ctx, metav1.ListOptions{})
	if err != nil || len(found.Items) != 2 || string(found.Items[1].Data["k"]) != secret {
		t.Errorf("the Secrets of all workspaces: %v, %v", found, err)
	}
	if _, err := kubernetes.NewForConfigOrDie(s.Config).CoreV1().Namespaces().Get(ctx, "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace in the root: %v", err)
	}
	err = filepath.WalkDir(s.DataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("%s contains the secret as plain text", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
