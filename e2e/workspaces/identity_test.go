// The server's own credentials never reach a server that a workspace chooses.
package workspaces

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// The administrator of a workspace registers the root as an external API server of the workspace, and impersonates the
// server's administrators there. With the client certificate of the front proxy the root would believe the headers.
func TestExternalServersAreNotGivenTheProxyCertificate(t *testing.T) {
	s := startTenants(t)
	ctx, c := bounded(t), clientOf(t, s.in("/workspaces/a"))
	root, err := url.Parse(s.TLSConfig().Host)
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "root"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}}
	if _, err := c.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const path = "/apis/workspaces.triplane.dev/v1alpha1"
	services := "/apis/apiregistration.k8s.io/v1/apiservices"
	body := fmt.Appendf(nil, `{"metadata":{"name":"v1alpha1.workspaces.triplane.dev"},"spec":{"group":"workspaces.triplane.dev",
		"version":"v1alpha1","groupPriorityMinimum":100,"versionPriority":10,"insecureSkipTLSVerify":true,
		"service":{"namespace":"default","name":"root","port":%s}}}`, root.Port())
	if err := c.RESTClient().Post().AbsPath(services).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error(); err != nil {
		t.Fatal(err)
	}
	await(t, "a check of the external server", func() (bool, error) {
		return checked(ctx, c.RESTClient(), services+"/v1alpha1.workspaces.triplane.dev")
	})
	config := s.in("/workspaces/a")
	config.Impersonate = rest.ImpersonationConfig{UserName: "root", Groups: []string{"system:masters"}}
	text, err := clientOf(t, config).RESTClient().Get().AbsPath(path + "/workspaces").DoRaw(ctx)
	if err == nil || strings.Contains(string(text), `"kind":"Workspace`) {
		t.Errorf("the root responded as to its administrator: %.300s", text)
	}
}

// checked reports whether the availability of an APIService was checked: it is not waiting for its Service any more.
func checked(ctx context.Context, c rest.Interface, path string) (bool, error) {
	raw, err := c.Get().AbsPath(path).DoRaw(ctx)
	if err != nil {
		return false, err
	}
	var s apiregistrationv1.APIService
	if err := json.Unmarshal(raw, &s); err != nil {
		return false, err
	}
	for _, condition := range s.Status.Conditions {
		if condition.Reason == "Passed" || condition.Reason == "FailedDiscoveryCheck" {
			return true, nil
		}
	}
	return false, nil
}
