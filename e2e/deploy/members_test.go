// The number of servers with embedded members changes as docs/chart.md describes, with the arguments of the chart.

package deploy

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev/e2e/harness"
)

// statefulSet runs the processes of the chart's StatefulSet on this machine.
type statefulSet struct {
	t       *testing.T
	program string
	args    []string
	keys    string
	members []*member
}

// member is a pod with its volume.
type member struct {
	*harness.Process
	data       string
	port, peer int
	written    string
}

const (
	membersHost = "triplane-members.api.svc"
	waitForExit = 40 * time.Second
)

func newStatefulSet(t *testing.T) *statefulSet {
	t.Helper()
	p, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	one, three := servers(t, render(t, "api", "controllers=none")),
		servers(t, render(t, "api", "controllers=none", "replicas=3"))
	args := strings.Join(one.Containers[0].Args, "\n")
	if other := strings.Join(three.Containers[0].Args, "\n"); args != other {
		t.Fatalf("the arguments depend on the number of servers:\n%s\n%s", args, other)
	}
	set := &statefulSet{t: t, program: p.Triplane, args: one.Containers[0].Args, keys: t.TempDir()}
	copyKeys(t, p.Triplane, "--data-dir", set.keys)
	for range 3 {
		set.members = append(set.members, &member{port: harness.FreePort(t), peer: harness.FreePort(t)})
	}
	return set
}

// start starts a pod. found is the pod whose address the Service of members returns.
func (s *statefulSet) start(i, found int) *member {
	s.t.Helper()
	m := s.members[i]
	if m.data == "" {
		m.data = s.t.TempDir()
	}
	copyKeys(s.t, s.program, "--data-dir", m.data, "--from", filepath.Join(s.keys, "pki"))
	addresses := []string{"$(POD_NAME)", fmt.Sprintf("triplane-%d", i),
		membersHost + ":6443", fmt.Sprintf("127.0.0.1:%d", s.members[found].port)}
	var here []string
	for _, arg := range s.args {
		here = append(here, strings.NewReplacer(addresses...).Replace(arg))
	}
	var names []string
	for i, m := range s.members {
		names = append(names, fmt.Sprintf("triplane-%d.%s:2380", i, membersHost), fmt.Sprintf("127.0.0.1:%d", m.peer))
	}
	for i := range here {
		here[i] = strings.NewReplacer(names...).Replace(here[i])
	}
	m.Process = harness.StartProgram(s.t, s.program, append(here, "--data-dir", m.data, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", m.port), "--shutdown-delay-duration=0",
		fmt.Sprintf("--embedded-etcd-peer-listen=https://127.0.0.1:%d", m.peer))...)
	return m
}

// client returns when the server is ready.
func (s *statefulSet) client(i int) (client *kubernetes.Clientset) {
	s.t.Helper()
	harness.Eventually(s.t, func() error {
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.members[i].data, "admin.kubeconfig"))
		if err != nil {
			return err
		}
		if client, err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
		return client.RESTClient().Get().AbsPath("/readyz").Do(s.t.Context()).Error()
	})
	return client
}

// check writes through each of some servers, and reads through each what was ever written.
func (s *statefulSet) check(phase string, serving ...int) {
	s.t.Helper()
	for _, i := range serving {
		name := fmt.Sprintf("%s-%d", phase, i)
		harness.Eventually(s.t, func() error {
			_, err := s.client(i).CoreV1().ConfigMaps("default").Create(s.t.Context(),
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) { // an attempt was not answered
				return nil
			}
			return err
		})
		s.members[i].written += " " + name
	}
	for _, i := range serving {
		for _, m := range s.members {
			for name := range strings.FieldsSeq(m.written) {
				if _, err := s.client(i).CoreV1().ConfigMaps("default").Get(s.t.Context(), name,
					metav1.GetOptions{}); err != nil {
					s.t.Errorf("%s: %s at triplane-%d: %v", phase, name, i, err)
				}
			}
		}
	}
}

// member runs the command member in a pod.
func (s *statefulSet) member(i int, args ...string) string {
	s.t.Helper()
	var out []byte
	harness.Eventually(s.t, func() (err error) { // not while another member has just come
		out, err = exec.CommandContext(s.t.Context(), s.program,
			append([]string{"member", "--data-dir", s.members[i].data}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("member %v: %w\n%s", args, err, out)
		}
		return nil
	})
	return string(out)
}

// TestDeployedMembers starts one server, makes it three and one again. Three stop at once, and the first one loses
// its volume.
func TestDeployedMembers(t *testing.T) {
	s := newStatefulSet(t)
	first := s.start(0, 0)
	s.check("one", 0)
	if strings.Contains(first.Output(), "\nE") {
		t.Errorf("the first start logs errors:\n%s", first.Output())
	}

	s.start(1, 0) // both at once, as podManagementPolicy Parallel does
	s.start(2, 0)
	s.check("three", 0, 1, 2)
	harness.Expect(t, s.member(1, "list"), "triplane-0", "triplane-1", "triplane-2")

	for _, m := range s.members {
		m.Kill()
	}
	for i := range s.members {
		s.start(i, i)
	}
	s.check("restarted", 0, 1, 2)

	s.members[0].Kill()
	s.members[0].data = ""
	if err := s.start(0, 2).Wait(t, waitForExit); err == nil {
		t.Error("a server whose volume was lost starts as a new one")
	}
	harness.Expect(t, s.members[0].Output(), "member triplane-0 (",
		"already exists: remove it with \"triplane member remove\"")
	s.check("two", 1, 2)
	s.member(1, "remove", "triplane-0")
	s.start(0, 2)
	s.check("replaced", 0, 1, 2)

	for _, i := range []int{2, 1} {
		s.member(0, "remove", fmt.Sprintf("triplane-%d", i))
		if err := s.members[i].Wait(t, waitForExit); err == nil {
			t.Errorf("removed member %d ends without an error", i)
		}
		s.members[i].data = "" // its claim is deleted
	}
	s.check("less", 0)
	if err := s.members[0].Terminate(t); err != nil {
		t.Error(err)
	}
	s.start(0, 0)
	s.check("last", 0)
	s.start(1, 0)
	s.check("again", 0, 1)
}

// TestMembersWaitForTheFirst: a server that does not create the cluster waits for it, and the first one does not
// create a cluster while it is unknown whether one exists.
func TestMembersWaitForTheFirst(t *testing.T) {
	s := newStatefulSet(t)
	second := s.start(1, 0)
	harness.Eventually(t, func() error {
		if !strings.Contains(second.Output(), "Failed to join the cluster, will retry") {
			return fmt.Errorf("it does not wait: %s", second.Output())
		}
		return nil
	})
	s.start(0, 1) // finds that the second one is not listening
	s.check("both", 0, 1)

	s = newStatefulSet(t)
	s.args = append(s.args, "--join=https://255.255.255.255:6443",
		"--storage-initialization-timeout=1s") // cannot be connected to
	first := s.start(0, 0)
	if err := first.Wait(t, waitForExit); err == nil {
		t.Error("it creates a cluster")
	}
	harness.Expect(t, first.Output(), "it is unknown whether one exists")
}
