package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"triplane/cmd/triplane/app"
	"triplane/e2e/harness"
	"triplane/generic/pki"
)

func deployFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// deployedArgs are the arguments of the program in the last document of a manifest, a pod or
// what has a template of one.
func deployedArgs(t *testing.T, manifest string) []string {
	t.Helper()
	documents := strings.Split(deployFile(t, manifest), "\n---\n")
	var object struct {
		Spec struct {
			corev1.PodSpec `json:",inline"`
			Template       corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(documents[len(documents)-1]), &object); err != nil {
		t.Fatalf("%s: %v", manifest, err)
	}
	containers := append(object.Spec.Containers, object.Spec.Template.Spec.Containers...)
	if len(containers) != 1 {
		t.Fatalf("%s has %d containers", manifest, len(containers))
	}
	if command := containers[0].Command; len(command) > 0 {
		return command[1:]
	}
	return containers[0].Args
}

// memberArgs are the arguments of a member of deploy/cluster, as its pod has them.
func memberArgs(t *testing.T, pod string) []string {
	t.Helper()
	args := deployedArgs(t, "cluster/triplane.yaml")
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "$(POD_NAME)", pod)
	}
	return args
}

// serviceArgs are the arguments in the unit of systemd.
func serviceArgs(t *testing.T) []string {
	t.Helper()
	options, err := unit.DeserializeOptions(strings.NewReader(deployFile(t, "systemd/triplane.service")))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(options, func(o *unit.UnitOption) bool { return o.Section == "Service" && o.Name == "ExecStart" })
	if i < 0 {
		t.Fatal("the unit starts nothing")
	}
	return strings.Fields(strings.TrimSuffix(options[i].Value, " $TRIPLANE_FLAGS"))[1:]
}

// imageArgs are the arguments that the image has unless others are given.
func imageArgs(t *testing.T) (args []string) {
	t.Helper()
	dockerfile := deployFile(t, "Dockerfile")
	_, cmd, _ := strings.Cut(dockerfile, "\nCMD ")
	if err := json.Unmarshal([]byte(cmd), &args); err != nil {
		t.Fatalf("CMD %s: %v", cmd, err)
	}
	for _, want := range []string{"\nRUN make build ", "\nFROM scratch\n", "\nUSER 65532:65532\n", "\nENTRYPOINT [\"triplane\"]\n"} {
		if !strings.Contains(dockerfile, want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
	return args
}

// TestDeployedCommandLines parses what the image, the unit and the manifests start.
func TestDeployedCommandLines(t *testing.T) {
	for name, args := range map[string][]string{
		"image":      imageArgs(t),
		"systemd":    serviceArgs(t),
		"standalone": deployedArgs(t, "standalone/triplane.yaml"),
		"ha":         deployedArgs(t, "ha/triplane.yaml"),
		"cluster":    memberArgs(t, "triplane-1"),
		"static pod": deployedArgs(t, "static-pod/kube-apiserver.yaml"),
	} {
		if len(args) == 0 {
			t.Errorf("%s: no arguments", name)
		}
		if _, err := app.Parse(args, io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKubeadmPatch makes of kubeadm's static pod the one that is there to be read.
func TestKubeadmPatch(t *testing.T) {
	var pod corev1.Pod
	if err := yaml.Unmarshal([]byte(deployFile(t, "static-pod/kube-apiserver.yaml")), &pod); err != nil {
		t.Fatal(err)
	}
	want := pod.DeepCopy()
	pod.Spec.Containers[0].Image = "registry.k8s.io/kube-apiserver:v1.36.0"
	pod.Spec.Containers[0].SecurityContext = nil
	original, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := yaml.YAMLToJSON([]byte(deployFile(t, "static-pod/kube-apiserver0+strategic.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	patched, err := strategicpatch.StrategicMergePatch(original, patch, corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.Pod
	if err := json.Unmarshal(patched, &got); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(&got, want) {
		t.Errorf("patched:\n%s", patched)
	}
}

// TestDeployedObjects applies all manifests, strictly, and looks for what alerts and dashboard
// ask for among the metrics.
func TestDeployedObjects(t *testing.T) {
	s, _ := startControlled(t)
	eventually(t, func() error { // a pod is made for this account
		_, err := s.TryKubectl(t, "", "get", "serviceaccount", "default", "-n", "kube-system")
		return err
	})
	apply := func(files ...string) {
		t.Helper()
		args := []string{"apply", "--server-side", "--validate=strict"}
		for _, f := range files {
			args = append(args, "-f", filepath.Join("../deploy", f))
		}
		s.Kubectl(t, args...)
	}
	apply("sample-apiserver/sample-apiserver.yaml", "sample-apiserver/apiservices.yaml", "standalone/triplane.yaml",
		"static-pod/kube-apiserver.yaml", "monitoring/rbac.yaml", "examples/crds", "examples/apiservices", "ha/triplane.yaml")
	s.Kubectl(t, "delete", "statefulset/triplane", "-n", "triplane", "--wait=false") // of standalone, which has the same name
	apply("cluster/triplane.yaml")
	s.Kubectl(t, "wait", "--for=condition=Established", "--timeout=30s", "crd/gardens.example.com", "crd/regions.example.com")
	apply("examples/objects")
	expect(t, s.Kubectl(t, "get", "gardens"), "loam", "3")
	s.Kubectl(t, "scale", "garden/front", "--replicas=2")
	if out, err := s.TryKubectl(t, "", "scale", "garden/front", "--replicas=1"); err == nil {
		t.Errorf("two plants fit into a bed: %s", out)
	}
	checkMonitoring(t, s)
}

// checkMonitoring parses the expressions of alerts and dashboard, and asks for their metrics as
// Prometheus would: as the service account that may.
func checkMonitoring(t *testing.T, s *harness.Server) {
	t.Helper()
	var token string
	eventually(t, func() error {
		token = s.Kubectl(t, "get", "secret", "prometheus", "-n", "monitoring", "-o", "go-template={{.data.token | base64decode}}")
		if strings.Count(token, ".") != 2 {
			return fmt.Errorf("no token yet: %s", token)
		}
		return nil
	})
	config := restclient.AnonymousClientConfig(s.Config)
	config.BearerToken = token
	served, err := kubernetes.NewForConfigOrDie(config).RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	expressions := append(alertExpressions(t), dashboardExpressions(t)...)
	cmd := exec.CommandContext(t.Context(), harness.Tool(t, "./promql"))
	cmd.Stdin = strings.NewReader(strings.Join(expressions, "\x00"))
	names, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, names)
	}
	for name := range strings.FieldsSeq(string(names)) {
		family := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			family = strings.TrimSuffix(family, suffix)
		}
		if name != "up" && !strings.Contains(string(served), "\n# TYPE "+family+" ") {
			t.Errorf("there is no metric %s", name)
		}
	}
}

func alertExpressions(t *testing.T) (found []string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(deployFile(t, "monitoring/rules.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
				t.Errorf("the rule %+v lacks something", rule)
			}
			found = append(found, rule.Expr)
		}
	}
	return found
}

func dashboardExpressions(t *testing.T) (found []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(deployFile(t, "monitoring/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	// Grafana fills in what its variables are.
	variables := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found = append(found, variables.Replace(target.Expr))
		}
	}
	if len(found) == 0 {
		t.Error("the dashboard shows nothing")
	}
	return found
}

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
		eventually(t, func() error {
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
		eventually(t, func() error {
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

// TestServiceIsNotified is systemd for a unit of Type=notify: it hears that the server is ready,
// and that it stops.
func TestServiceIsNotified(t *testing.T) {
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := socket.SetReadDeadline(time.Now().Add(40 * time.Second)); err != nil {
		t.Fatal(err)
	}
	hear := func(want string) {
		t.Helper()
		message := make([]byte, 100)
		n, err := socket.Read(message)
		if err != nil || string(message[:n]) != want {
			t.Fatalf("heard %q, %v; want %q", message[:n], err, want)
		}
	}
	t.Setenv("NOTIFY_SOCKET", socket.LocalAddr().String())
	s := harness.Start(t)
	hear("READY=1")
	out, err := exec.CommandContext(t.Context(), s.Programs.Triplane, "kubeconfig", "--data-dir", s.DataDir, "--server", "https://triplane.example.com").Output()
	if err != nil || !strings.Contains(string(out), "server: https://triplane.example.com\n") {
		t.Errorf("%v, the kubeconfig is\n%s", err, out)
	}
	if err := s.Terminate(t); err != nil {
		t.Error(err)
	}
	hear("STOPPING=1")
}
