// EndpointSlices of Services and Endpoints, and the status of a PodDisruptionBudget.

package controllers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/e2e/harness"
)

// TestServicesHaveSlices follows the slices of a Service, of Endpoints, and the
// status of a budget while pods come and go.
func TestServicesHaveSlices(t *testing.T) {
	s, client := harness.StartControlled(t)
	ctx := t.Context()
	harness.Eventually(t, func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	s.KubectlIn(t, `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: named}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: outside}
subsets: [{addresses: [{ip: 192.0.2.7}], ports: [{port: 8080}]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: unmanaged}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`, "apply", "-f", "-")
	slicesOf := func(service string) ([]discoveryv1.EndpointSlice, error) {
		list, err := client.DiscoveryV1().EndpointSlices("default").List(ctx,
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	addresses := func(service, want string) {
		t.Helper()
		harness.Eventually(t, func() error {
			list, err := slicesOf(service)
			if err != nil {
				return err
			}
			var got []string
			for _, s := range list {
				for _, e := range s.Endpoints {
					got = append(got, fmt.Sprintf("%s:%d %v", e.Addresses[0], *s.Ports[0].Port, *e.Conditions.Ready))
				}
			}
			slices.Sort(got)
			if text := strings.Join(got, ", "); text != want || len(list) != 1 {
				return fmt.Errorf("%d slices, endpoints %q, want %q", len(list), text, want)
			}
			return nil
		})
	}
	allowed := func(want int32) {
		t.Helper()
		harness.Eventually(t, func() error {
			b, err := client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "b", metav1.GetOptions{})
			if err == nil && (b.Status.DisruptionsAllowed != want || b.Status.ObservedGeneration != b.Generation) {
				err = fmt.Errorf("status %v", b.Status)
			}
			return err
		})
	}
	addresses("web", "")
	addresses("outside", "192.0.2.7:8080 true")
	for i, name := range []string{"a", "b"} {
		s.KubectlIn(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"app":"web"}},
			"spec":{"nodeName":"n","containers":[{"name":"c","image":"i","ports":[{"name":"named","containerPort":8081}]}]}}`, name), "create", "-f", "-")
		s.Kubectl(t, "patch", "pod", name, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
			`{"status":{"phase":"Running","podIP":"10.1.0.%d","podIPs":[{"ip":"10.1.0.%d"}],"conditions":[{"type":"Ready","status":"True"}]}}`, i+1, i+1))
	}
	addresses("web", "10.1.0.1:8081 true, 10.1.0.2:8081 true")
	allowed(1)
	harness.Eventually(t, func() error { // nothing says how many pods without a controller there should be
		b, err := client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "unmanaged", metav1.GetOptions{})
		if err == nil && (b.Status.ExpectedPods != 0 || b.Status.CurrentHealthy != 2 || len(b.Status.Conditions) == 0 ||
			b.Status.Conditions[0].Reason != policyv1.InsufficientPodsReason) {
			err = fmt.Errorf("status %v", b.Status)
		}
		if err != nil {
			return err
		}
		events, err := client.CoreV1().Events("default").List(ctx,
			metav1.ListOptions{FieldSelector: "reason=UnmanagedPods,involvedObject.name=unmanaged"})
		if err == nil && len(events.Items) == 0 {
			err = errors.New("no event")
		}
		return err
	})
	s.KubectlIn(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z"}}}`, "create", "-f", "-")
	for _, c := range []struct{ distribution, zone, want string }{
		{"PreferClose", "z", `{"forZones":[{"name":"z"}]}`},
		{"PreferSameNode", "z", `{"forZones":[{"name":"z"}],"forNodes":[{"name":"n"}]}`},
		{"PreferSameNode", "y", `{"forZones":[{"name":"y"}],"forNodes":[{"name":"n"}]}`},
	} {
		s.Kubectl(t, "patch", "service", "web", "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"trafficDistribution":%q}}`, c.distribution))
		s.Kubectl(t, "label", "node", "n", "--overwrite", "topology.kubernetes.io/zone="+c.zone)
		harness.Eventually(t, func() error {
			list, err := slicesOf("web")
			if err != nil {
				return err
			}
			for _, e := range list[0].Endpoints {
				if got, err := json.Marshal(e.Hints); err != nil || string(got) != c.want {
					return fmt.Errorf("%s: hints %s (%w), want %s", c.distribution, got, err, c.want)
				}
			}
			return nil
		})
	}
	s.Kubectl(t, "patch", "pod", "a", "--subresource=status", "--type=merge", "-p", `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	addresses("web", "10.1.0.1:8081 false, 10.1.0.2:8081 true")
	allowed(0)
	s.Kubectl(t, "delete", "pod", "a", "--grace-period=0", "--force")
	addresses("web", "10.1.0.2:8081 true")
	s.Kubectl(t, "delete", "endpointslice", "-l", discoveryv1.LabelServiceName+"=web")
	addresses("web", "10.1.0.2:8081 true")
	s.Kubectl(t, "delete", "service", "web", "outside")
	harness.Eventually(t, func() error {
		for _, name := range []string{"web", "outside"} {
			if list, err := slicesOf(name); err != nil || len(list) > 0 {
				return fmt.Errorf("slices of %s: %v (%w)", name, list, err)
			}
		}
		return nil
	})
}
