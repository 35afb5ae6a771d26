package triplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	spdytransport "k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// fakeKubelet implements the parts of a kubelet's API that clients use through the server. exec and attach echo
// their input in capitals, and exit with 3 if the command is "fail"; forwarded ports echo.
type fakeKubelet struct{ t *testing.T }

func (k fakeKubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/containerLogs/default/web/main":
		fmt.Fprintf(w, "log %s", r.URL.RawQuery)
	case "/containerLogs/default/web/sidecar":
		http.Error(w, "container is waiting to start", http.StatusBadRequest)
	case "/exec/default/web/main", "/attach/default/web/main":
		k.stream(w, r)
	case "/portForward/default/web":
		k.forward(w, r)
	default:
		http.NotFound(w, r)
	}
}

// accept upgrades to SPDY and passes on the streams that the client creates.
func (k fakeKubelet) accept(w http.ResponseWriter, r *http.Request, protocol string) (httpstream.Connection, <-chan httpstream.Stream) {
	if _, err := httpstream.Handshake(r, w, []string{protocol}); err != nil {
		k.t.Error(err)
		return nil, nil
	}
	streams := make(chan httpstream.Stream, 10)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	return conn, streams
}

func (k fakeKubelet) stream(w http.ResponseWriter, r *http.Request) {
	conn, streams := k.accept(w, r, constants.StreamProtocolV4Name)
	if conn == nil {
		return
	}
	defer conn.Close()
	byKind, query := map[string]httpstream.Stream{}, r.URL.Query()
	for len(byKind) < 1+len(query["input"])+len(query["output"]) {
		s := <-streams
		byKind[s.Headers().Get(corev1.StreamType)] = s
	}
	in, err := io.ReadAll(byKind[corev1.StreamTypeStdin])
	if err != nil {
		k.t.Error(err)
	}
	fmt.Fprintf(byKind[corev1.StreamTypeStdout], "%s %s", strings.Join(query["command"], " "), bytes.ToUpper(in))
	byKind[corev1.StreamTypeStdout].Close()
	status := metav1.Status{Status: metav1.StatusSuccess}
	if query.Get("command") == "fail" {
		status = metav1.Status{Status: metav1.StatusFailure, Reason: constants.NonZeroExitCodeReason,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: constants.ExitCodeCauseType, Message: "3"}}}}
	}
	if err := json.NewEncoder(byKind[corev1.StreamTypeError]).Encode(status); err != nil {
		k.t.Error(err)
	}
	byKind[corev1.StreamTypeError].Close()
	<-conn.CloseChan()
}

func (k fakeKubelet) forward(w http.ResponseWriter, r *http.Request) {
	conn, streams := k.accept(w, r, portforward.PortForwardProtocolV1Name)
	if conn == nil {
		return
	}
	defer conn.Close()
	for {
		select {
		case s := <-streams:
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
				fmt.Fprintf(s, "port %s", s.Headers().Get(corev1.PortHeader))
			}
			s.Close()
		case <-conn.CloseChan():
			return
		}
	}
}

// startPod starts a server with a pod on a node whose kubelet listens on port.
func startPod(t *testing.T, port int, o *Options) (*restclient.Config, kubernetes.Interface) {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	config, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, ctx := client(t, s), t.Context()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
	}}
	if _, err := c.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: corev1.PodSpec{
		NodeName: "n", Containers: []corev1.Container{{Name: "main", Image: "i"}, {Name: "sidecar", Image: "i"}},
	}}
	if _, err := c.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return config, c
}

func podOptions(t *testing.T) *Options {
	o := testOptions(t.TempDir())
	o.Admission.Disable = []string{"ServiceAccount"}
	o.Kube.Kubelet.AddressTypes = []string{"InternalIP", "ExternalIP"}
	return o
}

func TestKubelet(t *testing.T) {
	srv := httptest.NewTLSServer(fakeKubelet{t})
	defer srv.Close()
	u, _ := url.Parse(srv.URL)
	port, _ := strconv.Atoi(u.Port())
	kubeletStories(t, port, podOptions(t))
}

// kubeletStories reads logs, runs commands and forwards ports on a node whose kubelet listens on port.
func kubeletStories(t *testing.T, port int, o *Options) {
	t.Helper()
	config, c := startPod(t, port, o)
	t.Run("log", func(t *testing.T) {
		tail := int64(7)
		got, err := c.CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{Container: "main", Follow: true, TailLines: &tail}).DoRaw(t.Context())
		if err != nil || string(got) != "log follow=true&tailLines=7" {
			t.Errorf("%q, %v", got, err)
		}
		_, err = c.CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{Container: "sidecar"}).Stream(t.Context())
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "waiting to start") {
			t.Errorf("the kubelet's error became %v", err)
		}
	})
	for _, sub := range []string{"exec", "attach"} {
		location := c.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("web").SubResource(sub).URL()
		location.RawQuery = url.Values{"container": {"main"}, "stdin": {"true"}, "stdout": {"true"}, "command": {"say", "it"}}.Encode()
		failing := *location
		failing.RawQuery = strings.Replace(location.RawQuery, "command=say", "command=fail", 1)
		t.Run(sub+" over SPDY", func(t *testing.T) { execute(t, sub, newSPDY(t, config, location), newSPDY(t, config, &failing)) })
		t.Run(sub+" over WebSocket", func(t *testing.T) {
			execute(t, sub, newWebSocket(t, config, location), newWebSocket(t, config, &failing))
		})
	}
	location := c.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("web").SubResource("portforward").URL()
	t.Run("port-forward over SPDY", func(t *testing.T) {
		transport, upgrader, err := spdytransport.RoundTripperFor(config)
		if err != nil {
			t.Fatal(err)
		}
		forwardPort(t, spdytransport.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, location))
	})
	t.Run("port-forward over WebSocket", func(t *testing.T) {
		dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(location, config)
		if err != nil {
			t.Fatal(err)
		}
		forwardPort(t, dialer)
	})
}

// WebSockets are passed through to kubelets that declare support for them, and to all if a feature gate disables
// translation.
func TestWebSocketsOfKubelets(t *testing.T) {
	for name, c := range map[string]struct {
		gates    string
		declared []string
		want     string
	}{
		"translated":       {"", nil, "SPDY/3.1"},
		"declared":         {"", []string{"ExtendWebSocketsToKubelet"}, "websocket"},
		"not extended":     {"ExtendWebSocketsToKubelet=false", []string{"ExtendWebSocketsToKubelet"}, "SPDY/3.1"},
		"never translated": {"TranslateStreamCloseWebsocketRequests=false,PortForwardWebsockets=false", nil, "websocket"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan string, 2)
			srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Header.Get("Upgrade")
				http.Error(w, "not today", http.StatusTeapot)
			}))
			defer srv.Close()
			u, _ := url.Parse(srv.URL)
			port, _ := strconv.Atoi(u.Port())
			o := podOptions(t)
			if err := o.Compatibility.SetGates(c.gates); err != nil {
				t.Fatal(err)
			}
			config, client := startPod(t, port, o)
			patch := []byte(fmt.Sprintf(`{"status":{"declaredFeatures":%s}}`, mustJSON(t, c.declared)))
			if _, err := client.CoreV1().Nodes().Patch(t.Context(), "n", types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(err)
			}
			pod := client.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("web")
			command := pod.SubResource("exec").Param("container", "main").Param("stdout", "true").Param("command", "x").URL()
			_ = newWebSocket(t, config, command).StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard})
			if got := <-asked; got != c.want {
				t.Errorf("exec asks for %q, want %q", got, c.want)
			}
			location := client.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("web").SubResource("portforward").URL()
			dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(location, config)
			if err != nil {
				t.Fatal(err)
			}
			_, _, _ = dialer.Dial(portforward.PortForwardProtocolV1Name)
			if got := <-asked; got != c.want {
				t.Errorf("port-forward asks for %q, want %q", got, c.want)
			}
		})
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newSPDY(t *testing.T, config *restclient.Config, location *url.URL) remotecommand.Executor {
	t.Helper()
	e, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, location)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newWebSocket(t *testing.T, config *restclient.Config, location *url.URL) remotecommand.Executor {
	t.Helper()
	e, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, location.String())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// execute runs a command that succeeds and, if it is exec, one that fails.
func execute(t *testing.T, sub string, succeeds, fails remotecommand.Executor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out bytes.Buffer
	err := succeeds.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader("hello"), Stdout: &out})
	want := "say it HELLO"
	if sub == "attach" {
		want = " HELLO"
	}
	if err != nil || out.String() != want {
		t.Errorf("%q, %v", out.String(), err)
	}
	if sub == "attach" {
		return
	}
	var code exec.CodeExitError
	err = fails.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: &out})
	if !errors.As(err, &code) || code.Code != 3 {
		t.Errorf("the command that fails ended with %v", err)
	}
}

func forwardPort(t *testing.T, dialer httpstream.Dialer) {
	t.Helper()
	conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	header := http.Header{}
	header.Set(corev1.PortHeader, "8080")
	header.Set(corev1.PortForwardRequestIDHeader, "1")
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	if _, err := conn.CreateStream(header); err != nil {
		t.Fatal(err)
	}
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := conn.CreateStream(header)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(data)
	if err != nil || string(got) != "port 8080" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestKubeletUnreachable checks that errors contain the URL and the cause.
func TestKubeletUnreachable(t *testing.T) {
	_, c := startPod(t, 1, podOptions(t))
	_, err := c.CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{Container: "main"}).Stream(t.Context())
	want := `Get "https://127.0.0.1:1/containerLogs/default/web/main": dial tcp 127.0.0.1:1: connect: connection refused`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
