package admission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"

	"triplane.dev/generic/guard/admission"
)

// imageReviewer starts a webhook that responds with a status, or with another text, and records the images of
// requests.
func imageReviewer(t *testing.T, answer string) (kubeconfig string, asked *[]string) {
	asked = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review imagepolicyv1alpha1.ImageReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		for _, c := range review.Spec.Containers {
			*asked = append(*asked, c.Image)
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(s.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: "+
		"[{name: c, context: {cluster: c}}]\ncurrent-context: c\n", s.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, asked
}

func TestImageReviews(t *testing.T) {
	const yes = `{"apiVersion":"imagepolicy.k8s.io/v1alpha1","kind":"ImageReview","status":{"allowed":true}}`
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Image: "first"}}, Containers: []corev1.Container{{Image: "main"}},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: "debug"}}},
	}}
	for name, c := range map[string]struct {
		answer, subresource string
		update, open        bool
		asked, refused      string
	}{
		"a new pod":                  {answer: yes, asked: "main first"},
		"a change of something else": {answer: yes, update: true, asked: "main first"},
		"ephemeral containers": {answer: yes, update: true, subresource: "ephemeralcontainers",
			asked: "debug"},
		"a status": {answer: yes, update: true, subresource: "status"},
		"an answer of another kind": {answer: `{"kind":"Pod","apiVersion":"v1"}`, asked: "main first",
			refused: "the response is a /v1, Kind=Pod"},
		"no answer":                      {answer: "{", asked: "main first", refused: "unexpected"},
		"no answer, and nobody minds":    {answer: "{", asked: "main first", open: true},
		"another kind, and nobody minds": {answer: `{"kind":"Pod"}`, asked: "main first", open: true},
		"a refusal, where failures do no": {answer: strings.Replace(yes, "true", "false", 1), asked: "main first",
			open: true, refused: "rejected by webhook backend"},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, asked := imageReviewer(t, c.answer)
			plugin, err := newImagePolicy(&Dependencies{}, fmt.Appendf(nil,
				"imagePolicy: {kubeConfigFile: %q, retryBackoff: 1, defaultAllow: %v}", kubeconfig, c.open))
			if err != nil {
				t.Fatal(err)
			}
			a := podCreate(pod.DeepCopy())
			a.Subresource = c.subresource
			if c.update {
				a.Operation, a.OldObject = admission.Update, pod
			}
			err = plugin.(admission.ValidatingInterface).Validate(t.Context(), a)
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%v", err)
			}
			if got := strings.Join(*asked, " "); got != c.asked {
				t.Errorf("asked about %q, want %q", got, c.asked)
			}
			if len(a.Object.(*corev1.Pod).Annotations) > 0 {
				t.Error("the pod was changed")
			}
		})
	}
}
