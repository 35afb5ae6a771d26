package registry

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

func TestCreateSetsSystemMetadata(t *testing.T) {
	s, m := newStore(t, configMapKind())
	now := metav1.Now()
	in := configMap("a")
	in.UID, in.DeletionTimestamp, in.SelfLink = "mine", &now, "/x"
	out := must[*corev1.ConfigMap](t, create(s, in))
	switch {
	case out.UID == "mine" || out.UID == "":
		t.Errorf("uid %q", out.UID)
	case out.CreationTimestamp.IsZero():
		t.Error("no creationTimestamp")
	case out.DeletionTimestamp != nil || out.SelfLink != "":
		t.Errorf("kept %v, %q", out.DeletionTimestamp, out.SelfLink)
	case out.Namespace != "ns" || out.ResourceVersion != "101":
		t.Errorf("namespace %q, version %q", out.Namespace, out.ResourceVersion)
	}
	kv, ok := m.get("/registry/configmaps/ns/a")
	if !ok || !strings.HasPrefix(string(kv.Value), "k8s\x00") {
		t.Fatalf("stored %q, %v", kv.Value, ok)
	}
	st := must[*corev1.ConfigMap](t, get(s, "a"))
	if st.UID != out.UID || st.ResourceVersion != "101" || st.Kind != "ConfigMap" {
		t.Errorf("read %+v", st)
	}
}

func create[T kind.Object](s *Store[T], obj T) func() (runtime.Object, error) {
	return func() (runtime.Object, error) { return s.Create(inNamespace(), rest.CreateRequest{Object: obj}) }
}

func get[T kind.Object](s *Store[T], name string) func() (runtime.Object, error) {
	return func() (runtime.Object, error) { return s.Get(inNamespace(), rest.GetRequest{Name: name}) }
}

func TestCreateErrors(t *testing.T) {
	tests := []struct {
		name string
		obj  *corev1.ConfigMap
		code int32
		text string
	}{
		{"other namespace", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "other"}}, 400,
			"the namespace of the provided object does not match the namespace sent on the request"},
		{"no name", &corev1.ConfigMap{}, 422, `ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required`},
		{"invalid", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"bad": "x"}}, 422,
			`ConfigMap "a" is invalid: data.bad: Invalid value: "x": is bad`},
		{"finalizer", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{"plain"}}}, 422,
			`ConfigMap "a" is invalid: metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified`},
		{"exists", configMap("there"), 409, `configmaps "there" already exists`},
		{"goes", configMap("going"), 409, `object is being deleted: configmaps "going" already exists`},
		{"goes, with a prefix", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "going", GenerateName: "g-"}}, 409,
			`object is being deleted: configmaps "going" already exists, ` +
				`the server was not able to generate a unique name for the object`},
	}
	s, m := newStore(t, configMapKind())
	going := configMap("going")
	going.Finalizers = []string{"example.com/f"}
	for _, c := range []*corev1.ConfigMap{configMap("there"), going} {
		if _, err := create(s, c)(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "going", Options: &metav1.DeleteOptions{}}); err != nil {
		t.Fatal(err)
	}
	writes := m.writes
	for _, tt := range tests {
		for _, dry := range [][]string{nil, {metav1.DryRunAll}} {
			_, err := s.Create(inNamespace(), rest.CreateRequest{Object: tt.obj.DeepCopy(), Options: &metav1.CreateOptions{DryRun: dry}})
			wantStatus(t, tt.name, err, tt.code, tt.text)
		}
	}
	versioned := configMap("v")
	versioned.ResourceVersion = "5"
	if _, err := create(s, versioned)(); !errors.Is(err, errVersionOnCreate) {
		t.Errorf("with a version: %v", err)
	}
	created, err := s.Create(inNamespace(), rest.CreateRequest{Object: versioned, Options: &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}})
	if c, ok := created.(*corev1.ConfigMap); err != nil || !ok || c.ResourceVersion != "5" {
		t.Errorf("a dry run with a version, which is shown as sent: %v, %v", created, err)
	}
	if m.writes != writes {
		t.Error("something was written")
	}
}

func wantStatus(t testing.TB, what string, err error, code int32, text string) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Errorf("%s: %v is no status", what, err)
		return
	}
	if got := status.Status(); got.Code != code || !strings.HasPrefix(got.Message, text) {
		t.Errorf("%s: %d %s, want %d %s", what, got.Code, got.Message, code, text)
	}
}

func TestCreateDryRunWritesNothing(t *testing.T) {
	s, m := newStore(t, configMapKind())
	out := must[*corev1.ConfigMap](t, func() (runtime.Object, error) {
		return s.Create(inNamespace(), rest.CreateRequest{Object: configMap("a"), Options: &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}})
	})
	if out.UID == "" || out.ResourceVersion != "" || m.writes != 0 {
		t.Errorf("uid %q, version %q, %d writes", out.UID, out.ResourceVersion, m.writes)
	}
}

func TestGenerateName(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	long := strings.Repeat("x", 70)
	out := must[*corev1.ConfigMap](t, create(s, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: long}}))
	if len(out.Name) != 63 || !strings.HasPrefix(out.Name, long[:58]) {
		t.Errorf("name %q", out.Name)
	}
	// A name that is always taken is tried eight times, then reported as such.
	tries := 0
	taken := func(context.Context, runtime.Object) error {
		tries++
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "x")
	}
	_, err := s.Create(inNamespace(), rest.CreateRequest{Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}, Validate: taken})
	if tries != nameAttempts || !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "not able to generate a unique name") {
		t.Errorf("%d tries, %v", tries, err)
	}
}

func TestCreateAnswersAsStored(t *testing.T) {
	s, _ := newStore(t, roleKind())
	in := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Rules: []rbacv1.PolicyRule{}}
	out := must[*rbacv1.Role](t, create(s, in))
	if out.Rules != nil {
		t.Error("the answer holds an empty list where storage holds none")
	}
	in = &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{}}}}
	out = must[*rbacv1.Role](t, create(s, in))
	if len(out.Rules) != 1 || out.Rules[0].Verbs != nil {
		t.Errorf("rules %+v", out.Rules)
	}
}

func TestNullBytesAreStoredEmpty(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	in := configMap("a")
	in.BinaryData = map[string][]byte{"none": nil, "some": []byte("x")}
	out := must[*corev1.ConfigMap](t, create(s, in))
	read := must[*corev1.ConfigMap](t, get(s, "a"))
	for _, c := range []*corev1.ConfigMap{out, read} {
		if v, ok := c.BinaryData["none"]; !ok || v == nil || string(c.BinaryData["some"]) != "x" {
			t.Errorf("binaryData %#v", c.BinaryData)
		}
	}
}

func TestReservationsAreGivenBack(t *testing.T) {
	var finished []bool
	k := configMapKind()
	k.Write.Begin = func(context.Context, *corev1.ConfigMap, *corev1.ConfigMap, bool) (func(context.Context, bool),
		error) {
		return func(_ context.Context, ok bool) { finished = append(finished, ok) }, nil
	}
	s, _ := newStore(t, k)
	refuse := func(context.Context, runtime.Object) error { return errors.New("refused") }
	bad := configMap("b")
	bad.Data["bad"] = "x"
	for _, c := range []struct {
		obj      *corev1.ConfigMap
		validate rest.ValidateObjectFunc
		ok       bool
	}{{configMap("a"), nil, true}, {configMap("a"), nil, false}, {configMap("c"), refuse, false}, {bad, nil, false}} {
		finished = nil
		_, err := s.Create(inNamespace(), rest.CreateRequest{Object: c.obj, Validate: c.validate})
		if len(finished) != 1 || finished[0] != c.ok || (err == nil) != c.ok {
			t.Errorf("%s: finished %v, %v", c.obj.Name, finished, err)
		}
	}
}

func TestClusterScopedObjectsHaveNoNamespace(t *testing.T) {
	s, m := newStore(t, namespaceKind())
	in := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	out := must[*corev1.Namespace](t, func() (runtime.Object, error) {
		return s.Create(request.WithNamespace(context.Background(), ""), rest.CreateRequest{Object: in})
	})
	if _, ok := m.get("/registry/namespaces/x"); !ok || out.Namespace != "" {
		t.Errorf("namespace %q, stored %v", out.Namespace, ok)
	}
}

func TestNamesThatAreNoPath(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	_, err := s.Get(inNamespace(), rest.GetRequest{Name: ".."})
	wantStatus(t, "..", err, http.StatusBadRequest, `Name parameter invalid: "..": may not be '..'`)
	_, err = s.Get(context.Background(), rest.GetRequest{Name: "a"})
	wantStatus(t, "no namespace", err, http.StatusBadRequest, "Namespace parameter required.")
}
