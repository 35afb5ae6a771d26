package kind

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/rest"
)

func completed[T Object](t *testing.T, k *Kind[T]) *Kind[T] {
	t.Helper()
	c, err := k.Complete(runtime.NewScheme())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func deploymentKind() *Kind[*appsv1.Deployment] {
	return &Kind[*appsv1.Deployment]{
		Hub: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespaced: true, Names: Names{Plural: "deployments"},
		Write:  Write[*appsv1.Deployment]{CountsGeneration: true},
		Status: &Subresource[*appsv1.Deployment]{Preserves: []string{"metadata.labels"}},
	}
}

// objectBy returns a deployment whose spec, status and metadata say who wrote them.
func objectBy(by string) *appsv1.Deployment {
	own := map[string]string{"by": by}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Labels: own, Annotations: own, Finalizers: []string{by}, GenerateName: by, ResourceVersion: by, Generation: 7,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: by}},
		},
		Spec:   appsv1.DeploymentSpec{Paused: by == "client"},
		Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Message: by}}},
	}
}

// parts names the parts of an object that are the client's.
func parts(d *appsv1.Deployment) string {
	var out []string
	for _, p := range []struct {
		name string
		is   bool
	}{
		{"spec", d.Spec.Paused},
		{"status", len(d.Status.Conditions) > 0 && d.Status.Conditions[0].Message == "client"},
		{"labels", d.Labels["by"] == "client"},
		{"annotations", d.Annotations["by"] == "client"},
		{"finalizers", d.Finalizers[0] == "client"},
		{"generateName", d.GenerateName == "client"},
		{"version", d.ResourceVersion == "client"},
		{"managers", d.ManagedFields[0].Manager == "client"},
	} {
		if p.is {
			out = append(out, p.name)
		}
	}
	return strings.Join(out, " ")
}

func TestPreservedParts(t *testing.T) {
	type sub = Subresource[*appsv1.Deployment]
	hub := []VersionCodec{{GV: appsv1.SchemeGroupVersion}}
	for name, c := range map[string]struct {
		main                       Write[*appsv1.Deployment]
		status                     *sub
		created, updated, statusOf string
		resets, resetsOfStatus     string
	}{
		"no status": {created: "spec status", updated: "spec status"},
		"a status": {
			status: &sub{}, created: "spec", updated: "spec", statusOf: "status labels annotations finalizers generateName",
			resets: ".status", resetsOfStatus: ".spec",
		},
		"on create": {
			main: Write[*appsv1.Deployment]{Status: StatusOnCreate}, status: &sub{Metadata: ClientMetadata},
			created: "spec status", updated: "spec", statusOf: "status generateName",
			resets: ".status", resetsOfStatus: ".metadata .spec",
		},
		"always": {
			main:    Write[*appsv1.Deployment]{Status: StatusAlways, Resets: []string{"spec.paused"}},
			status:  &sub{Metadata: WholeMetadata},
			created: "spec status", updated: "spec status", statusOf: "status",
			resets: ".spec.paused", resetsOfStatus: ".metadata .spec",
		},
		"further fields": {
			main:    Write[*appsv1.Deployment]{Preserves: []string{"spec"}},
			status:  &sub{Preserves: []string{"metadata.labels"}, Resets: []string{"status.conditions"}},
			created: "spec", updated: "", statusOf: "status annotations finalizers generateName",
			resets: ".spec .status", resetsOfStatus: ".spec .metadata.labels .status.conditions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := deploymentKind()
			k.Write, k.Status = c.main, c.status
			k = completed(t, k)
			created, updated := objectBy("client"), objectBy("client")
			k.Prepare(context.Background(), nil, created, nil)
			k.Prepare(context.Background(), nil, updated, objectBy("server"))
			const meta = " labels annotations finalizers generateName version managers"
			if got, want := parts(created), c.created+meta; got != want {
				t.Errorf("created: %q, want %q", got, want)
			}
			if got, want := parts(updated), strings.TrimSpace(c.updated+meta); got != want {
				t.Errorf("updated: %q, want %q", got, want)
			}
			if got := fieldsOf(k.ResetFieldsIn(hub, nil)); got != c.resets {
				t.Errorf("reset fields %q, want %q", got, c.resets)
			}
			if c.status == nil {
				return
			}
			status := objectBy("client")
			k.Prepare(context.Background(), k.Status, status, objectBy("server"))
			if got, want := parts(status), c.statusOf+" version managers"; got != want {
				t.Errorf("status: %q, want %q", got, want)
			}
			if got := fieldsOf(k.ResetFieldsIn(hub, k.Status)); got != c.resetsOfStatus {
				t.Errorf("reset fields of the status %q, want %q", got, c.resetsOfStatus)
			}
		})
	}
}

// FieldsOf returns the fields that are reset in the hub version.
func fieldsOf(r rest.ResetFields) string {
	set := r[appsv1.SchemeGroupVersion]
	if set == nil {
		return ""
	}
	return strings.Join(strings.Fields(set.String()), " ")
}

func TestGeneration(t *testing.T) {
	old := objectBy("server")
	spec, annotations := old.DeepCopy(), old.DeepCopy()
	spec.Spec.Replicas, spec.Generation, annotations.Annotations = ptr.To[int32](3), 40, nil
	annotated := func(d, old *appsv1.Deployment) bool { return len(d.Annotations) != len(old.Annotations) }
	for name, c := range map[string]struct {
		counts             bool
		changed            func(d, old *appsv1.Deployment) bool
		first, spec, other int64
	}{
		"not counted": {first: 7, spec: 7, other: 7},
		"spec":        {counts: true, first: 1, spec: 8, other: 7},
		"annotations": {counts: true, changed: annotated, first: 1, spec: 7, other: 8},
		"of updates":  {changed: annotated, first: 7, spec: 7, other: 8},
	} {
		k := deploymentKind()
		k.Write = Write[*appsv1.Deployment]{CountsGeneration: c.counts, Changed: c.changed}
		k = completed(t, k)
		first, spec, other := old.DeepCopy(), spec.DeepCopy(), annotations.DeepCopy()
		k.Prepare(context.Background(), nil, first, nil)
		spec.Generation = old.Generation // as an update has set it
		k.Prepare(context.Background(), nil, spec, old)
		k.Prepare(context.Background(), nil, other, old)
		if first.Generation != c.first || spec.Generation != c.spec || other.Generation != c.other {
			t.Errorf("%s: generation %d when created, %d with another spec, %d with other annotations", name,
				first.Generation, spec.Generation, other.Generation)
		}
	}
}

func TestDeclaredFieldsExist(t *testing.T) {
	role := &Kind[*rbacv1.Role]{Hub: rbacv1.SchemeGroupVersion.WithKind("Role"), Names: Names{Plural: "roles"}}
	pod := &Kind[*corev1.Pod]{Hub: corev1.SchemeGroupVersion.WithKind("Pod"), Names: Names{Plural: "pods"}}
	role.Write.CountsGeneration = true
	if _, err := role.Complete(runtime.NewScheme()); err == nil {
		t.Error("a generation counts the changes of a spec that the type does not have")
	}
	for _, path := range []string{"status.nothing", "spec.securityContext.fsGroup"} {
		pod.Subresources = map[string]*Subresource[*corev1.Pod]{"a": {Preserves: []string{path}}}
		if _, err := pod.Complete(runtime.NewScheme()); err == nil {
			t.Errorf("the type has no field %s in the object itself", path)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	k, err := deploymentKind().Complete(runtime.NewScheme())
	if err != nil {
		b.Fatal(err)
	}
	old, obj := objectBy("server"), objectBy("server")
	b.ReportAllocs()
	for b.Loop() {
		k.Prepare(context.Background(), nil, obj, old)
	}
}
