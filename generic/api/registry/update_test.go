package registry

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
)

type changeFunc = func(ctx context.Context, old runtime.Object) (runtime.Object, error)

func updateWith(update func(context.Context, rest.UpdateRequest) (runtime.Object, bool, error), name string, change changeFunc) func() (runtime.Object, error) {
	return func() (runtime.Object, error) {
		obj, _, err := update(inNamespace(), rest.UpdateRequest{Name: name, Change: change})
		return obj, err
	}
}

func TestUpdateConflicts(t *testing.T) {
	s, m := newStore(t, configMapKind())
	old := must[*corev1.ConfigMap](t, create(s, configMap("a")))
	changed := old.DeepCopy()
	changed.Data["k"] = "w"
	out := must[*corev1.ConfigMap](t, updateWith(s.Update, "a", replaceWith(changed)))
	if out.ResourceVersion == old.ResourceVersion || out.Data["k"] != "w" || out.UID != old.UID {
		t.Errorf("updated to %+v", out)
	}
	writes := m.writes
	_, err := updateWith(s.Update, "a", replaceWith(changed))()
	wantStatus(t, "stale", err, 409, `Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`)
	_, err = updateWith(s.Update, "none", replaceWith(changed))()
	wantStatus(t, "missing", err, 404, `configmaps "none" not found`)
	other := types.UID("other")
	otherUID := func(name string) (runtime.Object, error) {
		obj, _, err := s.Update(inNamespace(), rest.UpdateRequest{Name: name, Preconditions: &metav1.Preconditions{UID: &other}, Change: replaceWith(changed)})
		return obj, err
	}
	_, err = otherUID("a")
	wantStatus(t, "uid", err, 409, `Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/ns/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: `+string(old.UID))
	_, _, err = s.Update(inNamespace(), rest.UpdateRequest{Name: "a", Preconditions: &metav1.Preconditions{UID: &other}, Change: replaceWith(changed),
		Options: &metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})
	wantStatus(t, "uid in a dry run", err, 409, `Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /configmaps/ns/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: `+string(old.UID))
	_, err = otherUID("none")
	wantStatus(t, "uid of a missing one", err, 404, `configmaps "none" not found`)
	if m.writes != writes {
		t.Error("something was written")
	}
	// Without a version, it overwrites.
	changed.ResourceVersion, changed.Data["k"] = "", "x"
	if out = must[*corev1.ConfigMap](t, updateWith(s.Update, "a", replaceWith(changed))); out.Data["k"] != "x" {
		t.Errorf("overwritten to %+v", out)
	}
}

// A write that was not answered may have happened. What is found then is not taken for somebody
// else's, nor written over, and what it has reserved stays so.
func TestUnansweredWritesAreNotTriedAgain(t *testing.T) {
	k := configMapKind()
	var unanswered *bool
	finish := func(_ context.Context, ok bool) {
		if *unanswered {
			t.Errorf("finished with %t, although nobody knows", ok)
		}
	}
	k.Write.Begin = func(context.Context, *corev1.ConfigMap, *corev1.ConfigMap, bool) (func(context.Context, bool),
		error) {
		return finish, nil
	}
	s, m := newStore(t, k)
	unanswered = &m.unanswered
	old := must[*corev1.ConfigMap](t, create(s, configMap("a")))
	for _, c := range []struct {
		name  string
		write func() (runtime.Object, error)
	}{
		{"from a version", updateWith(s.Update, "a", replaceWith(old))},
		{"whatever there", updateWith(s.Update, "a", change(func(c *corev1.ConfigMap) { c.ResourceVersion, c.Data["k"] = "", "more" }))},
		{"creation", create(s, configMap("b"))},
		{"creation by an update", func() (runtime.Object, error) {
			o, _, err := s.Update(inNamespace(), rest.UpdateRequest{Name: "c", Change: replaceWith(configMap("c")), ForceAllowCreate: true})
			return o, err
		}},
		{"deletion", func() (runtime.Object, error) {
			o, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a", Options: &metav1.DeleteOptions{}})
			return o, err
		}},
	} {
		m.unanswered = false
		now := must[*corev1.ConfigMap](t, updateWith(s.Update, "a", change(func(o *corev1.ConfigMap) { o.Data["k"] = c.name })))
		old.ResourceVersion, old.Data["k"] = now.ResourceVersion, "changed"
		m.unanswered = true
		writes := m.writes
		_, err := c.write()
		if wantStatus(t, c.name, err, 504, "Timeout: storage did not answer, the request may have been completed"); m.writes != writes+1 {
			t.Errorf("%s: %d writes", c.name, m.writes-writes)
		}
	}
}

func TestUpdateOfImmutableMetadata(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	must[*corev1.ConfigMap](t, create(s, configMap("a")))
	_, err := updateWith(s.Update, "a", change(func(c *corev1.ConfigMap) { c.UID = "x" }))()
	wantStatus(t, "uid", err, 422, `ConfigMap "a" is invalid: metadata.uid: Invalid value: "x": field is immutable`)
	var status *apierrors.StatusError
	if errors.As(err, &status) && len(status.ErrStatus.Details.Causes) != 2 {
		t.Errorf("%d causes, want kube-apiserver's 2", len(status.ErrStatus.Details.Causes))
	}
	then := metav1.Unix(5, 0)
	out := must[*corev1.ConfigMap](t, updateWith(s.Update, "a", change(func(c *corev1.ConfigMap) {
		c.CreationTimestamp, c.Generation, c.UID, c.Data["k"] = then, 7, "", "w"
	})))
	if out.CreationTimestamp.Equal(&then) || out.Generation != 0 || out.UID == "" {
		t.Errorf("kept %+v", out.ObjectMeta)
	}
}

func TestNoOpUpdateKeepsTheRevision(t *testing.T) {
	s, m := newStore(t, configMapKind())
	entry := metav1.ManagedFieldsEntry{Manager: "m", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{}}`)}, Time: &metav1.Time{Time: metav1.Unix(5, 0).Time}}
	in := configMap("a")
	in.ManagedFields = []metav1.ManagedFieldsEntry{entry}
	old := must[*corev1.ConfigMap](t, create(s, in))
	writes := m.writes
	out := must[*corev1.ConfigMap](t, updateWith(s.Update, "a", change(func(c *corev1.ConfigMap) {
		now := metav1.Now()
		c.ManagedFields[0].Time = &now
	})))
	if m.writes != writes || out.ResourceVersion != old.ResourceVersion || out.ManagedFields[0].Time.Unix() != 5 {
		t.Errorf("%d writes, version %s, time %v", m.writes-writes, out.ResourceVersion, out.ManagedFields[0].Time)
	}
	// A real change brings the new time.
	out = must[*corev1.ConfigMap](t, updateWith(s.Update, "a", change(func(c *corev1.ConfigMap) {
		now := metav1.Now()
		c.ManagedFields[0].Time, c.Data["k"] = &now, "w"
	})))
	if out.ManagedFields[0].Time.Unix() == 5 {
		t.Error("kept the old time")
	}
}

// Webhooks and quotas are asked about a change once, also where nothing is written.
func TestAdmissionIsAskedOnce(t *testing.T) {
	s, m := newStore(t, configMapKind())
	must[*corev1.ConfigMap](t, create(s, configMap("a")))
	asked := 0
	changing := func(context.Context, runtime.Object, runtime.Object) error { asked++; return nil } //nolint:unparam // the type of a validation
	deleting := func(context.Context, runtime.Object) error { asked++; return nil }                 //nolint:unparam // the type of a validation
	keep := change(func(*corev1.ConfigMap) {})
	for name, f := range map[string]func() error{
		"an update that changes nothing": func() error {
			_, _, err := s.Update(inNamespace(), rest.UpdateRequest{Name: "a", Change: keep, ValidateUpdate: changing})
			return err
		},
		"a dry run of it": func() error {
			_, _, err := s.Update(inNamespace(), rest.UpdateRequest{Name: "a", Change: keep, ValidateUpdate: changing, Options: &metav1.UpdateOptions{DryRun: dryRun}})
			return err
		},
		"a deletion that does not happen": func() error {
			_, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a", Validate: deleting, Options: &metav1.DeleteOptions{DryRun: dryRun}})
			return err
		},
	} {
		asked, m.reads = 0, 0
		if err := f(); err != nil || asked != 1 {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
		if m.reads != 1 {
			t.Errorf("%s: %d reads of the backend", name, m.reads)
		}
	}
}

// The first attempt starts from the cache, which may be behind.
func TestUpdateFromAStaleCache(t *testing.T) {
	s, m := newStore(t, configMapKind())
	old := must[*corev1.ConfigMap](t, create(s, configMap("a")))
	kv, _ := m.get("/registry/configmaps/ns/a")
	stale := func() { m.stale[kv.Key] = storage.NewRecord(kv.Key, kv.Value, kv.Revision) }
	now := must[*corev1.ConfigMap](t, updateWith(s.Update, "a", change(func(c *corev1.ConfigMap) { c.Data["k"] = "w" })))

	stale()
	out := must[*corev1.ConfigMap](t, updateWith(s.Update, "a", replaceWith(now.DeepCopy())))
	if out.ResourceVersion != now.ResourceVersion {
		t.Error("the update of what a client has read is no conflict")
	}
	stale()
	out = must[*corev1.ConfigMap](t, updateWith(s.Update, "a", change(func(c *corev1.ConfigMap) { c.Data["x"] = "y" })))
	if out.Data["k"] != "w" || out.Data["x"] != "y" {
		t.Errorf("lost an update: %v", out.Data)
	}
	stale()
	if _, err := updateWith(s.Update, "a", replaceWith(old))(); !apierrors.IsConflict(err) {
		t.Errorf("update of the old state: %v", err)
	}
	if _, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	stale()
	if _, err := updateWith(s.Update, "a", change(func(_ *corev1.ConfigMap) {}))(); !apierrors.IsNotFound(err) {
		t.Errorf("update of what is gone: %v", err)
	}
	stale()
	if _, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a"}); !apierrors.IsNotFound(err) {
		t.Errorf("deletion of what is gone: %v", err)
	}
}

func TestCreateOnUpdate(t *testing.T) {
	s, _ := newStore(t, roleKind())
	in := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "5"}}
	obj, created, err := s.Update(inNamespace(), rest.UpdateRequest{Name: "a", Change: replaceWith(in)})
	if err != nil || !created || must[*rbacv1.Role](t, func() (runtime.Object, error) { return obj, err }).UID == "" {
		t.Fatalf("%v, created %v: %+v", err, created, obj)
	}
	in.ResourceVersion = ""
	_, _, err = s.Update(inNamespace(), rest.UpdateRequest{Name: "a", Change: replaceWith(in)})
	wantStatus(t, "no version", err, 422, `roles.rbac.authorization.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`)
	c, m := newStore(t, configMapKind())
	apply := func() (bool, error) {
		_, created, err := c.Update(inNamespace(), rest.UpdateRequest{Name: "a", Change: change(func(c *corev1.ConfigMap) { c.Name = "a" }), ForceAllowCreate: true})
		return created, err
	}
	if created, err := apply(); err != nil || !created || m.reads != 0 {
		t.Errorf("apply: created %v, %v, with %d reads", created, err, m.reads)
	}
	// A cache that does not know it yet only costs an attempt.
	m.stale["/registry/configmaps/ns/a"] = nil
	if created, err := apply(); err != nil || created {
		t.Errorf("apply again: created %v, %v", created, err)
	}
}

// Versions of a kind may differ in whether PUT needs the resourceVersion.
func TestUnconditionalUpdateOfVersions(t *testing.T) {
	k := configMapKind()
	k.Write.AllowUnconditionalUpdate = func(version string) bool { return version == "v1beta1" }
	s, _ := newStore(t, k)
	must[*corev1.ConfigMap](t, create(s, configMap("a")))
	for version, want := range map[string]bool{"v1beta1": true, "v1": false} {
		ctx := request.WithInfo(inNamespace(), &request.Info{APIVersion: version})
		_, _, err := s.Update(ctx, rest.UpdateRequest{Name: "a", Change: replaceWith(configMap("a"))})
		if got := err == nil; got != want {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestLastFinalizerEndsADeletion(t *testing.T) {
	gone := 0
	k := configMapKind()
	k.Delete.After = func(context.Context, *corev1.ConfigMap) { gone++ }
	s, m := newStore(t, k)
	in := configMap("a")
	in.Finalizers = []string{"example.com/a", "example.com/b"}
	must[*corev1.ConfigMap](t, create(s, in))
	if _, deleted, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a", Options: &metav1.DeleteOptions{}}); err != nil || deleted {
		t.Fatal(deleted, err)
	}
	_, err := updateWith(s.Update, "a", change(func(c *corev1.ConfigMap) { c.Finalizers = append(c.Finalizers, "example.com/c") }))()
	wantStatus(t, "new finalizer", err, 422, `ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/c"}`)
	must[*corev1.ConfigMap](t, updateWith(s.Update, "a", change(func(c *corev1.ConfigMap) { c.Finalizers = c.Finalizers[1:] })))
	drop := change(func(c *corev1.ConfigMap) { c.Finalizers = nil })
	if _, _, err := s.Update(inNamespace(), rest.UpdateRequest{Name: "a", Change: drop, Options: &metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.get("/registry/configmaps/ns/a"); !ok || gone != 0 {
		t.Fatal("a dry run ended it")
	}
	out := must[*corev1.ConfigMap](t, updateWith(s.Update, "a", drop))
	if _, ok := m.get("/registry/configmaps/ns/a"); ok || gone != 1 || out.DeletionTimestamp == nil {
		t.Errorf("there %v, called back %d times, answer %+v", ok, gone, out.ObjectMeta)
	}
}

func TestStatusSubresource(t *testing.T) {
	s, _ := newStore(t, deploymentKind())
	two := int32(2)
	in := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: appsv1.DeploymentSpec{Replicas: &two}}
	in.Status.Replicas = 9
	if out := must[*appsv1.Deployment](t, create(s, in)); out.Status.Replicas != 0 || out.Generation != 1 {
		t.Fatalf("created %+v", out)
	}
	both := change(func(d *appsv1.Deployment) {
		three := int32(3)
		d.Spec.Replicas, d.Status.Replicas, d.Labels = &three, 4, map[string]string{"l": "1"}
	})
	status := s.Status()
	out := must[*appsv1.Deployment](t, updateWith(status.Update, "d", both))
	if *out.Spec.Replicas != 2 || out.Status.Replicas != 4 || out.Labels != nil || out.Generation != 1 {
		t.Errorf("status changed %+v", out)
	}
	out = must[*appsv1.Deployment](t, updateWith(s.Update, "d", both))
	if *out.Spec.Replicas != 3 || out.Generation != 2 || out.Labels == nil {
		t.Errorf("update changed %+v", out)
	}
	if _, err := updateWith(status.Update, "none", both)(); !apierrors.IsNotFound(err) {
		t.Errorf("status of a missing one: %v", err)
	}
}

func TestScale(t *testing.T) {
	s, _ := newStore(t, deploymentKind())
	two := int32(2)
	in := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: appsv1.DeploymentSpec{Replicas: &two}}
	in.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", APIVersion: "apps/v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:replicas":{},"f:paused":{}}}`)}}}
	d := must[*appsv1.Deployment](t, create(s, in))
	scale := s.Scale(s.Kind().Scale)
	got := must[*autoscalingv1.Scale](t, func() (runtime.Object, error) { return scale.Get(inNamespace(), rest.GetRequest{Name: "d"}) })
	if got.Spec.Replicas != 2 || got.Status.Selector != "a=b" || got.ResourceVersion != d.ResourceVersion || len(got.ManagedFields) != 0 {
		t.Errorf("scale %+v", got)
	}
	out := must[*autoscalingv1.Scale](t, updateWith(scale.Update, "d", change(func(sc *autoscalingv1.Scale) {
		if len(sc.ManagedFields) != 1 || string(sc.ManagedFields[0].FieldsV1.Raw) != `{"f:spec":{"f:replicas":{}}}` {
			t.Errorf("managed fields %+v", sc.ManagedFields)
		}
		sc.Spec.Replicas = 5
		sc.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "hpa", Operation: "Update", APIVersion: "autoscaling/v1", Subresource: "scale", FieldsType: "FieldsV1",
			FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:replicas":{}}}`)}}}
	})))
	d = must[*appsv1.Deployment](t, get(s, "d"))
	if out.Spec.Replicas != 5 || *d.Spec.Replicas != 5 || d.Generation != 2 {
		t.Errorf("scaled to %+v, %+v", out.Spec, d.Spec)
	}
	owners := map[string]string{}
	for _, e := range d.ManagedFields {
		owners[e.Manager+"/"+e.Subresource] = string(e.FieldsV1.Raw)
	}
	if owners["hpa/scale"] != `{"f:spec":{"f:replicas":{}}}` || owners["m/"] != `{"f:spec":{"f:paused":{}}}` {
		t.Errorf("owners %v", owners)
	}
	_, err := updateWith(scale.Update, "d", change(func(sc *autoscalingv1.Scale) { sc.Spec.Replicas = -1 }))()
	wantStatus(t, "negative", err, 422, `Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`)
	_, err = updateWith(scale.Update, "d", change(func(sc *autoscalingv1.Scale) { sc.ResourceVersion = "1" }))()
	wantStatus(t, "stale", err, 409, `Operation cannot be fulfilled on deployments.apps "d": the object has been modified`)
	_, err = updateWith(scale.Update, "none", change(func(*autoscalingv1.Scale) {}))()
	wantStatus(t, "missing", err, 404, `deployments.apps "none" not found`)
}

// TestScaleWithoutReplicas has a patch of the scale say what the replicas are, where the object has none.
func TestScaleWithoutReplicas(t *testing.T) {
	deployments := deploymentKind()
	whole := *deployments.Scale
	deployments.Scale = &kind.ScaleSubresource[*appsv1.Deployment]{
		Get: func(d *appsv1.Deployment) (*kind.Scale, error) {
			if d.Spec.Replicas == nil {
				return nil, kind.ErrNoReplicas
			}
			return whole.Get(d)
		},
		Set: whole.Set,
	}
	deployments.Write.Default = nil
	s, _ := newStore(t, deployments)
	must[*appsv1.Deployment](t, create(s, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}}))
	scale := s.Scale(s.Kind().Scale)
	_, err := updateWith(scale.Update, "d", change(func(*autoscalingv1.Scale) {}))()
	wantStatus(t, "says nothing", err, 400, `the spec replicas field ".spec.replicas" cannot be empty`)
	out := must[*autoscalingv1.Scale](t, updateWith(scale.Update, "d", change(func(sc *autoscalingv1.Scale) { sc.Spec.Replicas = 0 })))
	if d := must[*appsv1.Deployment](t, get(s, "d")); out.Spec.Replicas != 0 || d.Spec.Replicas == nil {
		t.Errorf("scaled to %+v, %+v", out.Spec, d.Spec)
	}
}

// What is not declared with the kind has no plan, and must not be taken for one that preserves nothing.
func TestUndeclaredSubresourcesPreserveNothing(t *testing.T) {
	s, _ := newStore(t, deploymentKind())
	obj := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}}
	if _, err := s.create(inNamespace(), obj, nil, false); err != nil {
		t.Fatal(err)
	}
	sub := &kind.Subresource[*appsv1.Deployment]{Preserves: []string{"spec"}}
	if _, err := s.Modify(inNamespace(), "d", sub, false, func(*appsv1.Deployment) error { return nil }); err == nil {
		t.Error("an update by an undeclared subresource is accepted, though what it preserves is unknown")
	}
}
