package registry

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

var dryRun = []string{metav1.DryRunAll}

func TestDeleteAnswersWithAStatus(t *testing.T) {
	s, m := newStore(t, configMapKind())
	in := must[*corev1.ConfigMap](t, create(s, configMap("a")))
	for _, dry := range [][]string{dryRun, nil} {
		obj, deleted, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a", Options: &metav1.DeleteOptions{DryRun: dry}})
		status, ok := obj.(*metav1.Status)
		if err != nil || !deleted || !ok {
			t.Fatalf("%T, %v, %v", obj, deleted, err)
		}
		if d := status.Details; status.Status != "Success" || d.Name != "a" || d.Kind != "configmaps" || d.UID != in.UID {
			t.Errorf("status %+v", status)
		}
		if _, there := m.get("/registry/configmaps/ns/a"); there != (dry != nil) {
			t.Errorf("dry run %v: there %v", dry, there)
		}
	}
	_, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a"})
	wantStatus(t, "gone", err, 404, `configmaps "a" not found`)
}

func TestDeletePreconditions(t *testing.T) {
	s, m := newStore(t, configMapKind())
	in := must[*corev1.ConfigMap](t, create(s, configMap("a")))
	other, version := types.UID("other"), "5"
	_, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a", Options: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}})
	wantStatus(t, "uid", err, 409, `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in record (`+string(in.UID)+`). The object might have been deleted and then recreated`)
	_, _, err = s.Delete(inNamespace(), rest.DeleteRequest{Name: "a", Options: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}})
	wantStatus(t, "version", err, 409, `Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (5) does not match the ResourceVersion in record (`+in.ResourceVersion+`). The object might have been modified`)
	never := metav1.DeletionPropagation("Never")
	_, _, err = s.Delete(inNamespace(), rest.DeleteRequest{Name: "a", Options: &metav1.DeleteOptions{PropagationPolicy: &never}})
	wantStatus(t, "policy", err, 422, `DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Never"`)
	if m.writes != 1 {
		t.Error("something was written")
	}
}

func TestPropagation(t *testing.T) {
	type step struct {
		opts       metav1.DeleteOptions
		finalizers []string // after it; nil: gone
	}
	foreground := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}
	background := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	orphan := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan)}
	tests := []struct {
		name       string
		collection kind.GarbageCollection
		finalizers []string
		steps      []step
	}{
		{"default", kind.DeleteDependents, nil, []step{{opts: metav1.DeleteOptions{}}}},
		{"default orphan", kind.OrphanDependents, nil, []step{{metav1.DeleteOptions{}, []string{"orphan"}}, {opts: background}}},
		{"unsupported", kind.Unsupported, nil, []step{{opts: foreground}}},
		{"foreground", kind.DeleteDependents, nil, []step{{foreground, []string{"foregroundDeletion"}}, {foreground, []string{"foregroundDeletion"}}, {opts: background}}},
		{"orphan then foreground", kind.DeleteDependents, nil, []step{{orphan, []string{"orphan"}}, {foreground, []string{"foregroundDeletion"}}}},
		{"orphanDependents", kind.DeleteDependents, nil, []step{{metav1.DeleteOptions{OrphanDependents: ptr.To(true)}, []string{"orphan"}}, {opts: metav1.DeleteOptions{OrphanDependents: ptr.To(false)}}}},
		{"held by the finalizer", kind.DeleteDependents, []string{"orphan"}, []step{{metav1.DeleteOptions{}, []string{"orphan"}}, {opts: background}}},
		{"others stay", kind.DeleteDependents, []string{"example.com/a"}, []step{{foreground, []string{"example.com/a", "foregroundDeletion"}}, {background, []string{"example.com/a"}}}},
	}
	for _, tt := range tests {
		k := configMapKind()
		k.Delete.GarbageCollection = tt.collection
		s, m := newStore(t, k)
		in := configMap("a")
		in.Finalizers, in.Generation = tt.finalizers, 3
		must[*corev1.ConfigMap](t, create(s, in))
		for i, st := range tt.steps {
			writes := m.writes
			if _, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a", Options: &metav1.DeleteOptions{PropagationPolicy: st.opts.PropagationPolicy, OrphanDependents: st.opts.OrphanDependents, DryRun: dryRun}}); err != nil || m.writes != writes {
				t.Errorf("%s, step %d, dry run: %v", tt.name, i, err)
			}
			obj, deleted, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a", Options: &st.opts})
			if err != nil || deleted != (st.finalizers == nil) {
				t.Errorf("%s, step %d: deleted %v, %v", tt.name, i, deleted, err)
				continue
			}
			if deleted {
				continue
			}
			c := must[*corev1.ConfigMap](t, func() (runtime.Object, error) { return obj, nil })
			if !slices.Equal(c.Finalizers, st.finalizers) || c.DeletionTimestamp == nil || *c.DeletionGracePeriodSeconds != 0 || c.Generation != 4 {
				t.Errorf("%s, step %d: %+v", tt.name, i, c.ObjectMeta)
			}
		}
	}
}

func TestGracefulDeletion(t *testing.T) {
	s, m := newStore(t, podKind())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	must[*corev1.Pod](t, create(s, pod))
	del := func(seconds *int64) (*corev1.Pod, bool) {
		t.Helper()
		obj, deleted, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "p", Options: &metav1.DeleteOptions{GracePeriodSeconds: seconds}})
		if err != nil {
			t.Fatal(err)
		}
		return must[*corev1.Pod](t, func() (runtime.Object, error) { return obj, nil }), deleted
	}
	first, deleted := del(nil)
	if deleted || *first.DeletionGracePeriodSeconds != 30 || first.Generation != 2 {
		t.Fatalf("deleted %v, %+v", deleted, first.ObjectMeta)
	}
	writes := m.writes
	if again, deleted := del(ptr.To(int64(40))); deleted || m.writes != writes || again.ResourceVersion != first.ResourceVersion {
		t.Error("a longer period changed something")
	}
	if shorter, deleted := del(ptr.To(int64(5))); deleted || *shorter.DeletionGracePeriodSeconds != 5 || shorter.Generation != 2 ||
		shorter.DeletionTimestamp.After(first.DeletionTimestamp.Add(-24e9)) {
		t.Errorf("shorter: %+v", shorter.ObjectMeta)
	}
	// A terminating pod with a period is not taken away by an update.
	must[*corev1.Pod](t, updateWith(s.Update, "p", change(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} })))
	if _, ok := m.get("/registry/pods/ns/p"); !ok {
		t.Fatal("gone")
	}
	if last, deleted := del(ptr.To(int64(0))); !deleted || *last.DeletionGracePeriodSeconds != 0 {
		t.Errorf("zero: %v %+v", deleted, last.ObjectMeta)
	}
	if _, ok := m.get("/registry/pods/ns/p"); ok {
		t.Error("still there")
	}
}

// Admission reads the grace period that the kind has settled from the options.
func TestValidationReadsTheGracePeriod(t *testing.T) {
	for _, c := range []struct{ sent, want *int64 }{
		{nil, ptr.To[int64](30)}, {ptr.To[int64](5), ptr.To[int64](5)}, {ptr.To[int64](-3), ptr.To[int64](1)},
	} {
		s, _ := newStore(t, podKind())
		must[*corev1.Pod](t, create(s, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}))
		options := &metav1.DeleteOptions{GracePeriodSeconds: c.sent}
		var got *int64
		if _, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "p", Options: options,
			Validate: func(context.Context, runtime.Object) error {
				got = options.GracePeriodSeconds
				return nil
			}}); err != nil {
			t.Fatal(err)
		}
		if !ptr.Equal(got, c.want) {
			t.Errorf("sent %v: %v", ptr.Deref(c.sent, -1), ptr.Deref(got, -1))
		}
	}
}

// An object that is marked and then removed is answered with the stored bytes, at the revision of the deletion.
func TestRemovedAtOnce(t *testing.T) {
	s, m := newStore(t, podKind())
	must[*corev1.Pod](t, create(s, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}))
	obj, deleted, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "p",
		Options: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}})
	answer, ok := obj.(rest.Stored)
	if err != nil || !deleted || !ok {
		t.Fatalf("%T, %v, %v", obj, deleted, err)
	}
	text, err := answer.Wire(corev1.SchemeGroupVersion, wire.JSON)
	if err != nil {
		t.Fatal(err)
	}
	var p corev1.Pod
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if p.Kind != "Pod" || p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != 0 ||
		p.ResourceVersion != storage.FormatRevision(m.revision) || answer.ResourceVersion() != p.ResourceVersion {
		t.Errorf("at %d: %s", m.revision, text)
	}
}

func TestNamespaceDeletion(t *testing.T) {
	s, m := newStore(t, namespaceKind())
	ctx := context.Background()
	if _, err := s.Create(ctx, rest.CreateRequest{Object: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes"}}}}); err != nil {
		t.Fatal(err)
	}
	uid := types.UID("other")
	_, _, err := s.Delete(ctx, rest.DeleteRequest{Name: "x", Options: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}})
	wantStatus(t, "uid", err, 409, `Operation cannot be fulfilled on namespaces "x": Precondition failed: UID in precondition: other, UID in object meta: `)
	for i := range 2 {
		obj, deleted, err := s.Delete(ctx, rest.DeleteRequest{Name: "x", Options: &metav1.DeleteOptions{}})
		ns := must[*corev1.Namespace](t, func() (runtime.Object, error) { return obj, err })
		if deleted || ns.Status.Phase != corev1.NamespaceTerminating || ns.DeletionTimestamp == nil || ns.DeletionGracePeriodSeconds != nil {
			t.Errorf("deletion %d: %v, %+v", i, deleted, ns)
		}
	}
	// An update without metadata finalizers leaves it, since its spec holds it.
	if _, _, err := s.Update(ctx, rest.UpdateRequest{Name: "x", Change: change(func(n *corev1.Namespace) { n.Labels = map[string]string{"a": "b"} })}); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.get("/registry/namespaces/x"); !ok {
		t.Fatal("gone")
	}
	finalize := s.Resources(corev1.SchemeGroupVersion)["namespaces/finalize"]
	if finalize.Get != nil {
		t.Error("finalize can be read")
	}
	if _, _, err := finalize.Update(ctx, rest.UpdateRequest{Name: "x", Change: change(func(n *corev1.Namespace) { n.Spec.Finalizers = nil })}); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.get("/registry/namespaces/x"); ok {
		t.Error("still there")
	}
}

func TestDeleteCollection(t *testing.T) {
	s, m := newStore(t, configMapKind())
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		c := configMap(n)
		c.Labels = map[string]string{"even": map[bool]string{true: "y", false: "n"}[n == "b" || n == "d"]}
		must[*corev1.ConfigMap](t, create(s, c))
	}
	even, _ := labels.Parse("even=y")
	obj, err := s.DeleteCollection(inNamespace(), rest.DeleteCollectionRequest{Options: &metav1.DeleteOptions{}, List: &metainternalversion.ListOptions{LabelSelector: even}})
	if err != nil || len(obj.(*rest.StoredList).Items) != 2 {
		t.Fatal(obj, err)
	}
	obj, err = s.DeleteCollection(inNamespace(), rest.DeleteCollectionRequest{Options: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, List: &metainternalversion.ListOptions{ResourceVersion: "101"}})
	if err != nil || names(obj.(*rest.StoredList)) != "a" {
		t.Errorf("at a version: %v, %v", obj, err)
	}
	refuse := func(_ context.Context, o runtime.Object) error {
		if o.(*corev1.ConfigMap).Name == "e" {
			return apierrors.NewBadRequest("not e")
		}
		return nil
	}
	if _, err = s.DeleteCollection(inNamespace(), rest.DeleteCollectionRequest{Validate: refuse}); !apierrors.IsBadRequest(err) {
		t.Errorf("refused: %v", err)
	}
	if _, ok := m.get("/registry/configmaps/ns/e"); !ok {
		t.Error("e is gone")
	}
	if _, err = s.DeleteCollection(inNamespace(), rest.DeleteCollectionRequest{}); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(inNamespace(), nil)
	if err != nil || len(list.(*rest.StoredList).Items) != 0 {
		t.Error(list, err)
	}
}

func TestVerbs(t *testing.T) {
	read := configMapKind()
	read.Without = []string{"create", "update", "delete", "deletecollection", "watch"}
	for want, kind := range map[bool]*kind.Kind[*corev1.ConfigMap]{true: configMapKind(), false: read} {
		s, _ := newStore(t, kind)
		r := s.Resource()
		has := []bool{r.Create != nil, r.Update != nil, r.Patches(), r.Delete != nil, r.DeleteCollection != nil, r.Watch != nil}
		if slices.Contains(has, !want) || r.Get == nil || r.List == nil {
			t.Errorf("without %v: %v", kind.Without, has)
		}
	}
	n, _ := newStore(t, namespaceKind())
	if r := n.Resource(); r.DeleteCollection != nil || !r.Patches() || r.Delete == nil {
		t.Error("namespaces have other verbs")
	}
}
