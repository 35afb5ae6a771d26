// A server that emulates v1.34.

package serving

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
)

// TestEmulatedVersion runs a server that is like v1.34: it serves what that release
// had, with its features, and says so.
func TestEmulatedVersion(t *testing.T) {
	s := harness.Start(t, "--disable-admission-plugins=ServiceAccount", "--emulated-version=1.34",
		"--runtime-config=resource.k8s.io/v1beta2=true")
	client := kubernetes.NewForConfigOrDie(s.Config)

	raw, err := client.RESTClient().Get().AbsPath("/version").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var version struct{ Minor, EmulationMinor, MinCompatibilityMinor string }
	if err := json.Unmarshal(raw, &version); err != nil {
		t.Fatal(err)
	}
	if version.Minor != "37" || version.EmulationMinor != "34" || version.MinCompatibilityMinor != "34" {
		t.Errorf("/version says %+v", version)
	}

	served := servedKinds(t, client)
	for kind, want := range map[string]bool{
		"resource.k8s.io/v1 DeviceClass":                               true,  // since 1.34
		"certificates.k8s.io/v1 ClusterTrustBundle":                    false, // since 1.37
		"resource.k8s.io/v1beta2 DeviceClass":                          true,
		"storage.k8s.io/v1 VolumeAttributesClass":                      true, // since 1.34
		"storage.k8s.io/v1 StorageClass":                               true,
		"admissionregistration.k8s.io/v1 MutatingAdmissionPolicy":      false, // since 1.36
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":    true,
		"networking.k8s.io/v1 ServiceCIDR":                             true, // since 1.33
		"admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy": false,
	} {
		if slices.Contains(served, kind) != want {
			t.Errorf("%s is served: %t", kind, !want)
		}
	}

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i"}}, HostnameOverride: new(string),
	}}
	*pod.Spec.HostnameOverride = "h"
	made, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if made.Spec.HostnameOverride != nil {
		t.Error("a field of 1.35 is kept")
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "1st"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "DNS-1035") {
		t.Errorf("a name of 1.36: %v", err)
	}
	class := &resourcev1beta2.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	if _, err := client.ResourceV1beta2().DeviceClasses().Create(t.Context(), class,
		metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// servedKinds are "GROUP/VERSION KIND" of what discovery lists.
func servedKinds(t *testing.T, client kubernetes.Interface) []string {
	t.Helper()
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, l := range lists {
		for i := range l.APIResources {
			kinds = append(kinds, l.GroupVersion+" "+l.APIResources[i].Kind)
		}
	}
	return kinds
}
