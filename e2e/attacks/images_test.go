package attacks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
)

// A debug container has an image that the policy forbids (CVE-2023-2727). The attacker
// would run what they like in pods that were admitted with other images.
func TestForbiddenImages(t *testing.T) {
	policy := listen(t, func(w http.ResponseWriter, r *http.Request) {
		review := &imagepolicyv1alpha1.ImageReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil {
			t.Error(err)
		}
		review.Status.Allowed = true
		for _, c := range review.Spec.Containers {
			review.Status.Allowed = review.Status.Allowed && c.Image != "evil"
		}
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	kubeconfig, config := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "admission.yaml")
	for file, content := range map[string]string{
		kubeconfig: fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", policy.URL, policy.authority()),
		config:     fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: ImagePolicyWebhook, configuration: {imagePolicy: {kubeConfigFile: %q, defaultAllow: false}}}]\n", kubeconfig),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, "--enable-admission-plugins=ImagePolicyWebhook", "--admission-control-config-file="+config)
	s.apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: default}\n")
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: imaged}\nspec: {" + spec + "}\n"
	}
	admin := s.as("")
	const denied = "one or more images rejected"
	for _, spec := range []string{
		"containers: [{name: c, image: evil}]",
		"initContainers: [{name: d, image: evil}], containers: [{name: c, image: i}]",
	} {
		admin.refused(403, denied, "POST", pods, pod(spec))
	}
	if code, answer := admin.do("POST", pods, pod("containers: [{name: c, image: i}]")); code != http.StatusCreated {
		t.Fatal(code, answer)
	}
	admin.refused(403, denied, "PATCH", pods+"/imaged", `{"spec":{"containers":[{"name":"c","image":"evil"}]}}`,
		"Content-Type", "application/strategic-merge-patch+json")
	debug := `{"spec":{"ephemeralContainers":[{"name":"debug","image":"%s"}]}}`
	admin.refused(403, denied, "PATCH", pods+"/imaged/ephemeralcontainers", strings.Replace(debug, "%s", "evil", 1))
	if code, answer := admin.do("PATCH", pods+"/imaged/ephemeralcontainers",
		strings.Replace(debug, "%s", "i", 1)); code != http.StatusOK {
		t.Errorf("a debug container that the policy allows: %d %s", code, answer)
	}
}
