// Replicas and members as their manifests start them, behind a balancer.

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
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev/e2e/harness"
	"triplane.dev/generic/run/pki"
)

// TestDeployedReplicas starts three replicas as the manifest does, behind a balancer, and takes
// one after the other away.
func TestDeployedReplicas(t *testing.T) {
	p, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(t.TempDir(), "pki")
	if _, err := pki.Ensure(keys, pki.Config{Names: []string{"localhost"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, FrontProxy: "front-proxy-client"}); err != nil {
		t.Fatal(err)
	}
	etcd := harness.StartEtcd(t)
	var replicas []*harness.Process
	balancer := balance(t)
	config := &restclient.Config{Host: "https://" + balancer.address, QPS: -1, TLSClientConfig: restclient.TLSClientConfig{
		CAFile: filepath.Join(keys, "ca.crt"), CertFile: filepath.Join(keys, "admin.crt"), KeyFile: filepath.Join(keys, "admin.key"),
	}}
	for range 3 {
		port := harness.FreePort(t)
		args := []string{"--bind-address=127.0.0.1"}
		for _, arg := range deployedArgs(t, "ha/triplane.yaml") {
			switch name, _, _ := strings.Cut(arg, "="); name {
			case "--etcd-servers":
				arg = name + "=" + etcd
			case "--etcd-cafile", "--etcd-certfile", "--etcd-keyfile":
				continue // this one has no TLS
			case "--secure-port":
				arg = fmt.Sprintf("%s=%d", name, port)
			case "--shutdown-delay-duration":
				arg = name + "=200ms"
			}
			args = append(args, strings.ReplaceAll(arg, "/etc/triplane/pki", keys))
		}
		replicas = append(replicas, harness.StartProgram(t, p.Triplane, args...))
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
	list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"})
	if err != nil || len(list.Items) != 3 {
		t.Errorf("%d objects, %v", len(list.Items), err)
	}
}

// TestDeployedMembers starts three members at once as the manifest does, with keys from a folder, and
// writes and reads through each.
func TestDeployedMembers(t *testing.T) {
	p, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	keys := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), p.Triplane, append([]string{"keys"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("keys %v: %v\n%s", args, err, out)
		}
	}
	common := t.TempDir()
	keys("--data-dir", common)
	var addresses []string // what is in the manifest, and where it is here
	for i := range 3 {
		addresses = append(addresses, fmt.Sprintf("triplane-%d.triplane-members.triplane.svc:2380", i), fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t)))
	}
	here := strings.NewReplacer(addresses...)
	var clients []*kubernetes.Clientset
	var directories []string
	for i := range 3 {
		dir, listen := t.TempDir(), "--embedded-etcd-peer-listen=https://"+addresses[2*i+1]
		directories = append(directories, dir)
		keys("--data-dir", dir, "--from", filepath.Join(common, "pki"))
		args := []string{"--controllers=none"}
		for _, arg := range memberArgs(t, fmt.Sprintf("triplane-%d", i)) {
			args = append(args, here.Replace(arg))
		}
		args = append(args, "--data-dir", dir, "--bind-address=127.0.0.1", "--secure-port=0", "--shutdown-delay-duration=0", listen)
		harness.StartProgram(t, p.Triplane, args...)
	}
	for _, dir := range directories {
		var client *kubernetes.Clientset
		harness.Eventually(t, func() error {
			config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "admin.kubeconfig"))
			if err != nil {
				return err
			}
			if client, err = kubernetes.NewForConfig(config); err != nil {
				return err
			}
			return client.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error()
		})
		clients = append(clients, client)
	}
	for i, writer := range clients {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("of-%d", i)}}
		if _, err := writer.CoreV1().ConfigMaps("default").Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for j, reader := range clients {
			if _, err := reader.CoreV1().ConfigMaps("default").Get(t.Context(), c.Name, metav1.GetOptions{}); err != nil {
				t.Errorf("what %d wrote, through %d: %v", i, j, err)
			}
		}
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
