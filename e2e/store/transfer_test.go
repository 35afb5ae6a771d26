// triplane export and import: from one server to another, in whole and in part.

package store

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
)

// transfer runs triplane export or import and returns what it prints to the standard output and to the
// standard error, and its exit code.
func transfer(t *testing.T, s *harness.Server, args ...string) (out, progress string, code int) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), s.Programs.Triplane, append(args, "--data-dir", s.DataDir)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its exit code says more
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// transferStopped exports and imports the objects of a data directory that no server uses, whose kubeconfig
// stays that of the last server.
func transferStopped(t *testing.T, s *harness.Server, want []string) {
	t.Helper()
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if got := exported(t, s); !slices.Equal(got, want) {
		t.Errorf("of the stopped server:\n%s\nwant:\n%s", strings.Join(got, "\n---\n"), strings.Join(want, "\n---\n"))
	}
	file := filepath.Join(t.TempDir(), "one.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: imported, namespace: default}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, progress, code := transfer(t, s, "import", file); code != 0 {
		t.Errorf("exit code %d: %s", code, progress)
	}
	if now, err := os.ReadFile(s.Kubeconfig); err != nil || !bytes.Equal(now, kubeconfig) {
		t.Errorf("admin.kubeconfig was changed: %v", err)
	}
	s.Restart(t)
	if _, err := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default").Get(t.Context(), "imported",
		metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestTransfer moves what one server has to another one, exports it again there, and compares.
func TestTransfer(t *testing.T) {
	from := harness.Start(t)
	populate(t, from)
	dir := t.TempDir() + "/objects/"
	if _, progress, code := transfer(t, from, "export", dir); code != 0 ||
		!strings.Contains(progress, "objects were exported") {
		t.Fatalf("exit code %d: %s", code, progress)
	}

	to := harness.Start(t)
	_, progress, code := transfer(t, to, "import", dir)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, progress)
	}
	harness.Expect(t, progress, " created, ")
	before, after := exported(t, from), exported(t, to)
	if !slices.Equal(before, after) {
		t.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n---\n"), strings.Join(after, "\n---\n"))
	}
	if len(before) < 12 {
		t.Errorf("only %d objects", len(before))
	}
	ownedByNew(t, to)

	// The second time all are there.
	if _, progress, code := transfer(t, to, "import", dir); code != 0 || !strings.Contains(progress, " 0 created, ") {
		t.Errorf("exit code %d: %s", code, progress)
	}
	if again := exported(t, to); !slices.Equal(after, again) {
		t.Error("the second import changed something")
	}
	transferStopped(t, to, after)
}

// populate makes objects of many kinds, with owners, statuses, addresses and definitions.
func populate(t *testing.T, s *harness.Server) {
	t.Helper()
	harness.ServeWidgets(t, s)
	s.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml", "-f", "../testdata/widget.yaml")
	client := kubernetes.NewForConfigOrDie(s.Config)
	owner, err := client.CoreV1().ConfigMaps("shop").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "z-owner"},
			BinaryData: map[string][]byte{"b": {0, 1, 255}},
			Data:       map[string]string{"text": "a: b\n---\n'c'\n", "yes": "yes"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dependent := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a-dependent",
		Finalizers: []string{"example.com/keep"}, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}},
		Data: map[string][]byte{"k": []byte("v")}}
	if _, err := client.CoreV1().Secrets("shop").Create(t.Context(), dependent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "ours"},
		Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "shop"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	pod, err = client.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		// ServiceAccount admission needs the account, which no controller makes here.
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		if _, err := client.CoreV1().ServiceAccounts("shop").Create(t.Context(), account,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "shop"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		if pod, err = client.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pod.Status.Phase, pod.Status.Message = corev1.PodRunning, "as it was"
	if _, err := client.CoreV1().Pods("shop").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// exported are the documents of an export, without uids and what else is of one server.
func exported(t *testing.T, s *harness.Server) []string {
	t.Helper()
	out, progress, code := transfer(t, s, "export", "-")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, progress)
	}
	var documents []string
	for document := range strings.SplitSeq(out, "\n---\napiVersion:") {
		var lines []string
		for line := range strings.Lines(document) {
			if !strings.Contains(line, "uid: ") && !strings.Contains(line, "lastTransitionTime: ") {
				lines = append(lines, line)
			}
		}
		documents = append(documents, strings.Trim(strings.Join(lines, ""), "-\n"))
	}
	return documents
}

// ownedByNew looks whether the dependent's owner is the one that is there.
func ownedByNew(t *testing.T, s *harness.Server) {
	t.Helper()
	uid := s.Kubectl(t, "get", "configmap", "z-owner", "-n", "shop", "-o", "jsonpath={.metadata.uid}")
	if got := s.Kubectl(t, "get", "secret", "a-dependent", "-n", "shop", "-o",
		"jsonpath={.metadata.ownerReferences[0].uid}"); got != uid {
		t.Errorf("the owner is %s, not %s", got, uid)
	}
}

// TestTransferOfSome exports one namespace, and imports what a server refuses, in part.
func TestTransferOfSome(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "create", "namespace", "one")
	s.Kubectl(t, "create", "namespace", "two")
	for _, namespace := range []string{"one", "two"} {
		s.Kubectl(t, "create", "configmap", "in-"+namespace, "-n", namespace)
	}
	out, _, code := transfer(t, s, "export", "-", "--namespaces", "two")
	if code != 0 || strings.Contains(out, "in-one") || !strings.Contains(out, "in-two") ||
		!strings.Contains(out, "kind: Namespace") || strings.Contains(out, "ClusterRole") {
		t.Errorf("exit code %d: %s", code, out)
	}
	file := filepath.Join(t.TempDir(), "some.yaml")
	docs := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good, namespace: one}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name, namespace: one}\n---\napiVersion: nosuch/v1\nkind: None\nmetadata: {name: nothing}\n"
	if err := os.WriteFile(file, []byte(docs), 0o600); err != nil {
		t.Fatal(err)
	}
	_, progress, code := transfer(t, s, "import", file)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	harness.Expect(t, progress, "ConfigMap one/Bad_Name: ", "None nothing: the server does not serve nosuch/v1",
		"1 objects were imported: 1 created", "triplane: 2 of 3 objects were not imported")
	for line, want := range map[string]string{"export": "takes one argument", "import /nosuch": "no such file",
		"export - --data-dir=/nosuch": "the data directory contains no administrator's kubeconfig"} {
		out, err := exec.CommandContext(t.Context(), s.Programs.Triplane,
			append(strings.Fields(line), "--kubeconfig="+kubeconfigOf(s, line))...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %s, want %q", line, out, want)
		}
	}
	harness.Expect(t, fmt.Sprint(transfer(t, s, "export", "--help")), "Usage:", "--namespaces")
}

// kubeconfigOf is that of a server, unless a command line has a data directory.
func kubeconfigOf(s *harness.Server, line string) string {
	if strings.Contains(line, "--data-dir") {
		return ""
	}
	return s.Kubeconfig
}
