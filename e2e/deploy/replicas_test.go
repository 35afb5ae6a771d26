// Replicas and members as the chart starts them, with addresses of this machine.

package deploy

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
	"triplane.dev/generic/run/pki"
)

// copyKeys runs the command of the chart's containers that copies the keys of a cluster to a data directory.
func copyKeys(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, append([]string{"keys"}, args...)...).
		CombinedOutput(); err != nil {
		t.Fatalf("keys %v: %v\n%s", args, err, out)
	}
}

// TestDeployedReplicas starts three replicas as the chart does, behind a balancer, and stops one after the other.
func TestDeployedReplicas(t *testing.T) {
	p, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	common := t.TempDir()
	keys := filepath.Join(common, "pki")
	copyKeys(t, p.Triplane, "--data-dir", common)
	if _, err := pki.Ensure(keys, pki.Config{FrontProxy: "front-proxy-client"}); err != nil {
		t.Fatal(err)
	}
	etcd := harness.StartEtcd(t)
	var replicas []*harness.Process
	balancer := balance(t)
	config := &restclient.Config{Host: "https://" + balancer.address, QPS: -1,
		TLSClientConfig: restclient.TLSClientConfig{
			CAFile: filepath.Join(keys, "ca.crt"), ServerName: "triplane.api.svc",
			CertFile: filepath.Join(keys, "admin.crt"), KeyFile: filepath.Join(keys, "admin.key"),
		}}
	args := servers(t, render(t, "api", chartModes["etcd"]...)).Containers[0].Args
	for range 3 {
		port, dir := harness.FreePort(t), t.TempDir()
		copyKeys(t, p.Triplane, "--data-dir", dir, "--from", keys)
		var here []string
		for _, arg := range args {
			switch name, _, _ := strings.Cut(arg, "="); name {
			case "--etcd-servers":
				arg = name + "=" + etcd
			case "--etcd-cafile", "--etcd-certfile", "--etcd-keyfile":
				continue // this one has no TLS
			}
			here = append(here, arg)
		}
		here = append(here, "--data-dir", dir, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
			"--shutdown-delay-duration=200ms")
		replicas = append(replicas, harness.StartProgram(t, p.Triplane, here...))
		balancer.add(fmt.Sprintf("127.0.0.1:%d", port))
	}
	client := kubernetes.NewForConfigOrDie(config)
	write := func(name string) {
		t.Helper()
		harness.Eventually(t, func() error {
			c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), c, metav1.CreateOptions{})
			return err
		})
	}
	write("three")
	replicas[0].Kill()
	write("two")
	if err := replicas[1].Terminate(t); err != nil {
		t.Error(err)
	}
	write("one")
	list, err := client.CoreV1().ConfigMaps("default").List(t.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"})
	if err != nil || len(list.Items) != 3 {
		t.Errorf("%d objects, %v", len(list.Items), err)
	}
}

// balancer passes connections on to the first of its backends, in turn, that takes one.
type balancer struct {
	address  string
	backends []string
	next     atomic.Int64
}

func balance(t *testing.T) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	b := &balancer{address: listener.Addr().String()}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go b.pass(c)
		}
	}()
	return b
}

// add is called before the first connection.
func (b *balancer) add(backend string) { b.backends = append(b.backends, backend) }

func (b *balancer) pass(client net.Conn) {
	defer client.Close()
	for range b.backends {
		backend, err := net.Dial("tcp", b.backends[int(b.next.Add(1))%len(b.backends)])
		if err != nil {
			continue
		}
		defer backend.Close()
		go func() {
			_, _ = io.Copy(backend, client)
			_ = backend.Close() // ends the other direction
		}()
		_, _ = io.Copy(client, backend)
		return
	}
}
