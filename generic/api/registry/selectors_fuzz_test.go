package registry

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane.dev/generic/api/rest"
)

// What selectors choose from a list is what the library's matching says.
func FuzzSelectors(f *testing.F) {
	for _, s := range [][2]string{
		{"l=a", ""}, {"l in (a,b),l!=b", "metadata.name!=a"}, {"!l", "spec.nodeName=node-b"}, {"l notin (a),m", "metadata.namespace=ns"},
		{"l>1", "metadata.name=a,metadata.name=b"}, {"", "status.phase="}, {"x==y", "spec.nodeName=\\,"}, {"l", "a=b"},
	} {
		f.Add(s[0], s[1])
	}
	s, _ := newStore(f, podKind())
	pods := map[string]*corev1.Pod{}
	for name, set := range map[string]labels.Set{"a": {"l": "a"}, "b": {"l": "b", "m": ""}, "c": {"l": "2"}, "d": nil} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: set}, Spec: corev1.PodSpec{NodeName: "node-" + name}}
		if _, err := s.Create(inNamespace(), rest.CreateRequest{Object: p}); err != nil {
			f.Fatal(err)
		}
		pods[name] = p
	}
	f.Fuzz(func(t *testing.T, label, field string) {
		l, err := labels.Parse(label)
		if err != nil {
			return
		}
		fs, err := fields.ParseSelector(field)
		if err != nil {
			return
		}
		got, err := s.list(inNamespace(), &metainternalversion.ListOptions{LabelSelector: l, FieldSelector: fs})
		if err != nil {
			if !apierrors.IsBadRequest(err) {
				t.Fatalf("%q %q: %v", label, field, err)
			}
			return
		}
		want := ""
		for _, name := range []string{"a", "b", "c", "d"} {
			set := fields.Set{"metadata.name": name, "metadata.namespace": "ns", "spec.nodeName": "node-" + name}
			if l.Matches(labels.Set(pods[name].Labels)) && matchesAll(fs, set) {
				want = join(want, name)
			}
		}
		if names(got) != want {
			t.Fatalf("%q %q chose %q, not %q", label, field, names(got), want)
		}
	})
}

func join(names, name string) string {
	if names == "" {
		return name
	}
	return names + " " + name
}

// matchesAll validates the fields that the test's kind has; others are refused.
func matchesAll(s fields.Selector, set fields.Set) bool {
	for _, r := range s.Requirements() {
		if equal := set[r.Field] == r.Value; equal != (r.Operator != "!=") {
			return false
		}
	}
	return true
}
