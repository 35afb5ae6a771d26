// Three embedded members: each serves everything, the leader is killed, a member is replaced.

package replicas

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// TestEmbeddedCluster has three servers with embedded members form a cluster, kills the leader, and puts
// another server in the place of one.
func TestEmbeddedCluster(t *testing.T) {
	c := &embeddedCluster{t: t, Cluster: harness.Cluster{Args: []string{"--controllers=*"}}}
	for _, name := range []string{"a", "b", "c"} {
		c.Join(t, name)
	}
	for name, s := range c.Servers { // the first one cannot know whether its store was lost
		if is := strings.Contains(s.Output(), "Starting a new cluster with an empty store"); is != (name == "a") {
			t.Errorf("%s logs that it begins a cluster: %v", name, is)
		}
	}
	c.sharesAll()
	c.checkReplicas()
	c.losesLeader()
	c.replaces()
}

type embeddedCluster struct {
	harness.Cluster
	t *testing.T
}

func (c *embeddedCluster) client(name string) *kubernetes.Clientset {
	return kubernetes.NewForConfigOrDie(c.Servers[name].Config)
}

// role returns the names of members that have a role, as another one sees them.
func (c *embeddedCluster) role(through, role string) []string {
	c.t.Helper()
	names, err := c.Members(c.t, through, role)
	if err != nil {
		c.t.Fatal(err)
	}
	return names
}

var sprockets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sprockets"}

// sharesAll defines a resource at one server and uses it at the others, reads at each what was written at
// each, and has a token of one accepted at another.
func (c *embeddedCluster) sharesAll() {
	c.t.Helper()
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "sprockets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "sprockets", "kind": "Sprocket"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	if _, err := dynamic.NewForConfigOrDie(c.Servers["a"].Config).Resource(crds).Create(c.t.Context(), crd,
		metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	for name, s := range c.Servers {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Sprocket",
			"metadata": map[string]any{"name": name}}}
		harness.Eventually(c.t, func() error { // the resource is served when its definition was seen
			_, err := dynamic.NewForConfigOrDie(s.Config).Resource(sprockets).Namespace("default").Create(c.t.Context(),
				object, metav1.CreateOptions{})
			return err
		})
		c.write(name, "of-"+name)
		for other, o := range c.Servers {
			if _, err := dynamic.NewForConfigOrDie(o.Config).Resource(sprockets).Namespace("default").Get(c.t.Context(),
				name, metav1.GetOptions{}); err != nil && !apierrors.IsNotFound(err) {
				c.t.Errorf("sprocket %s at %s: %v", name, other, err)
			}
			if _, err := c.client(other).CoreV1().ConfigMaps("default").Get(c.t.Context(), "of-"+name,
				metav1.GetOptions{}); err != nil {
				c.t.Errorf("config map of %s at %s: %v", name, other, err)
			}
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := c.client("a").CoreV1().ServiceAccounts("default").Create(c.t.Context(), account,
		metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	token, err := c.client("a").CoreV1().ServiceAccounts("default").CreateToken(c.t.Context(), "robot",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	robot := restclient.AnonymousClientConfig(c.Servers["b"].Config)
	robot.BearerToken = token.Status.Token
	who, err := kubernetes.NewForConfigOrDie(robot).AuthenticationV1().SelfSubjectReviews().Create(c.t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || who.Status.UserInfo.Username != "system:serviceaccount:default:robot" {
		c.t.Errorf("a token of another server: %v, %v", who, err)
	}
	robot.BearerToken = "" // anybody
	if err := kubernetes.NewForConfigOrDie(robot).RESTClient().Post().AbsPath("/etcd/members").
		Body([]byte(`{"name":"x","peerURL":"https://127.0.0.1:1"}`)).Do(c.t.Context()).
		Error(); !apierrors.IsForbidden(err) {
		c.t.Errorf("anybody may join: %v", err)
	}
}

// write creates a config map, for as long as it takes.
func (c *embeddedCluster) write(through, name string) {
	c.t.Helper()
	harness.Eventually(c.t, func() error {
		ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.client(through).CoreV1().ConfigMaps("default").Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // an attempt was not answered
			return nil
		}
		return err
	})
}

// checkReplicas looks for what servers agree about by leases: their addresses, and who runs controllers.
func (c *embeddedCluster) checkReplicas() {
	c.t.Helper()
	harness.Eventually(c.t, func() error {
		slice, err := c.client("b").DiscoveryV1().EndpointSlices("default").Get(c.t.Context(), "kubernetes",
			metav1.GetOptions{})
		if err != nil || len(slice.Endpoints) != len(c.Servers) {
			return fmt.Errorf("endpoints of the Service kubernetes: %v, %w", slice, err)
		}
		return nil
	})
	running := 0
	for _, s := range c.Servers {
		running += strings.Count(s.Output(), "Started controllers")
	}
	if running != 1 {
		c.t.Errorf("controllers run in %d servers", running)
	}
}

// losesLeader kills the leader: a watch and writes through another one go on, and it has what was written
// when it is back.
func (c *embeddedCluster) losesLeader() {
	c.t.Helper()
	leaders, others := c.role("a", "leader"), c.role("a", "follower")
	if len(leaders) != 1 || len(others) != 2 {
		c.t.Fatalf("leaders %v, followers %v", leaders, others)
	}
	leader := leaders[0]
	watch, err := c.client(others[0]).CoreV1().ConfigMaps("default").Watch(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer watch.Stop()
	c.Servers[leader].Kill()
	c.write(others[1], "leaderless")
	deadline := time.After(40 * time.Second)
	for seen := false; !seen; {
		select {
		case event := <-watch.ResultChan():
			object, is := event.Object.(*corev1.ConfigMap)
			if !is {
				c.t.Fatalf("the watch through another member ends: %v", event)
			}
			seen = object.Name == "leaderless"
		case <-deadline:
			c.t.Fatal("the watch through another member reports nothing")
		}
	}
	c.Servers[leader].Restart(c.t)
	if _, err := c.client(leader).CoreV1().ConfigMaps("default").Get(c.t.Context(), "leaderless",
		metav1.GetOptions{}); err != nil {
		c.t.Errorf("what was written while it was away: %v", err)
	}
}

// replaces removes a member, whose server ends, and has another one join.
func (c *embeddedCluster) replaces() {
	c.t.Helper()
	gone := c.Servers["c"]
	harness.Eventually(c.t, func() error { // not while another member has just come back
		_, err := c.Run(c.t, "a", "member", "remove", "c")
		return err
	})
	if err := gone.Wait(c.t, 40*time.Second); err == nil || gone.ExitCode() != 1 {
		c.t.Errorf("a removed member ends with %v", err)
	}
	harness.Expect(c.t, gone.Output(), "triplane: the embedded etcd failed: this member was removed from its cluster")
	delete(c.Servers, "c")
	c.Join(c.t, "d")
	c.write("d", "of-d")
	for _, name := range []string{"leaderless", "of-a", "of-c", "of-d"} {
		if _, err := c.client("d").CoreV1().ConfigMaps("default").Get(c.t.Context(), name,
			metav1.GetOptions{}); err != nil {
			c.t.Errorf("%s at the new member: %v", name, err)
		}
	}
	names := append(c.role("d", "leader"), c.role("d", "follower")...)
	if slices.Sort(names); !slices.Equal(names, []string{"a", "b", "d"}) {
		c.t.Errorf("members are %v", names)
	}
	s := c.Servers["a"]
	out, err := exec.CommandContext(c.t.Context(), s.Programs.Triplane, "--data-dir", c.t.TempDir(), "--secure-port=0",
		"--embedded-etcd-name=d", "--embedded-etcd-peer-listen=https://127.0.0.1:1",
		"--join="+s.Config.Host, "--join-kubeconfig="+s.Kubeconfig).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "409 Conflict: member d (") {
		c.t.Errorf("the name of another: %v, %s", err, out)
	}
	if err := s.Terminate(c.t); err != nil {
		c.t.Errorf("a stop: %v", err)
	}
	saved := filepath.Join(c.t.TempDir(), "member.db")
	shown, err := c.Run(c.t, "a", "snapshot", "save", saved)
	if err != nil {
		c.t.Fatal(err)
	}
	harness.Expect(c.t, shown, "revision ")
}
