package kind

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func since(t metav1.Time) string { return "since " + t.UTC().Format(time.Kitchen) }

func TestColumnsOfFields(t *testing.T) {
	k := deploymentKind()
	k.Columns = []Column{{Field: "metadata.name"}, {Field: "spec.replicas"}, {Name: "Paused", Field: "spec.paused"},
		{Name: "Selector", Field: "spec.selector"}, {Name: "Own"}, {Name: "Text", Field: "spec.strategy.type", Type: "any"},
		{Name: "Conditions", Field: "status.conditions", Description: "How many."},
		{Name: "Nodes", Field: "spec.template.spec.nodeSelector"}, {Name: "Created", Field: "metadata.creationTimestamp"}}
	k.Show.Cells = func(d *appsv1.Deployment, _ func(metav1.Time) string) []any { return []any{d.Namespace} }
	c := completed(t, k)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns"}}
	if got, want := c.TableCells(d, since), []any{"d", int64(0), false, "<none>", "ns", "", int64(0), "<none>",
		"since 12:00AM"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	d.Spec.Replicas, d.Spec.Selector = ptr.To[int32](3), &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	d.Status.Conditions = make([]appsv1.DeploymentCondition, 2)
	if got := c.TableCells(d, since); got[1] != int64(3) || got[3] != "a=b" || got[6] != int64(2) {
		t.Errorf("%v", got)
	}
	columns := c.TableColumns()
	var types []string
	for i := range columns {
		types = append(types, columns[i].Type)
	}
	if got := strings.Join(types, " "); got != "string integer boolean string  any integer string string" {
		t.Errorf("types %q", got)
	}
	if got := columns[1].Description; got != (appsv1.DeploymentSpec{}).SwaggerDoc()["replicas"] {
		t.Errorf("description %q", got)
	}
	if got := columns[1].Name; got != "Replicas" {
		t.Errorf("name %q", got)
	}
	if got := columns[6].Description; got != "How many." {
		t.Errorf("description %q", got)
	}
}

func TestFieldsThatKindsLack(t *testing.T) {
	for want, change := range map[string]func(*Kind[*appsv1.Deployment]){
		"no field spec.none that a column": func(k *Kind[*appsv1.Deployment]) { k.Columns = []Column{{Field: "spec.none"}} },
		"no field spec.strategy that a":    func(k *Kind[*appsv1.Deployment]) { k.Columns = []Column{{Field: "spec.strategy"}} },
		"no documentation of a field x": func(k *Kind[*appsv1.Deployment]) {
			k.Columns = []Column{{Field: "kind", Description: ".x"}}
		},
		"columns without cells": func(k *Kind[*appsv1.Deployment]) { k.Columns = []Column{{Name: "A"}} },
		"no field spec.a":       func(k *Kind[*appsv1.Deployment]) { k.Select.Fields = Fields[*appsv1.Deployment]("spec.a") },
		"no field spec.b":       func(k *Kind[*appsv1.Deployment]) { k.Write.Fixed = []string{"spec.b"} },
		"does not have one kind of the Go type *v1.Deployment": func(k *Kind[*appsv1.Deployment]) {
			k.Hub = schema.GroupVersionKind{}
		},
	} {
		k := deploymentKind()
		change(k)
		if _, err := k.Complete(runtime.NewScheme()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestHubOfTheScheme(t *testing.T) {
	scheme, gvk := runtime.NewScheme(), corev1.SchemeGroupVersion.WithKind("Endpoints")
	scheme.AddKnownTypeWithName(gvk, &corev1.Endpoints{})
	k, err := (&Kind[*corev1.Endpoints]{}).Complete(scheme)
	if err != nil || k.Hub != gvk || k.Names.Plural != "endpoints" {
		t.Errorf("%v, %v, %v", k.Hub, k.Names, err)
	}
	scheme.AddKnownTypeWithName(gvk.GroupKind().WithVersion("v2"), &corev1.Endpoints{})
	if _, err := (&Kind[*corev1.Endpoints]{}).Complete(scheme); err == nil {
		t.Error("the hub is one of two kinds of the Go type")
	}
}

func TestSelectableFieldsOfFields(t *testing.T) {
	c := completed(t, &Kind[*corev1.Pod]{Hub: corev1.SchemeGroupVersion.WithKind("Pod"), Names: Names{Plural: "pods"},
		Select: Select[*corev1.Pod]{Fields: append(Fields[*corev1.Pod]("spec.nodeName", "spec.hostNetwork", "spec.priority"),
			SelectableField[*corev1.Pod]{Path: "named", Reads: []string{"status.phase"}})}})
	p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodFailed}}
	var got []string
	for _, f := range c.Select.Fields {
		got = append(got, f.Path+"="+f.Get(p))
	}
	p.Spec.Priority = ptr.To[int32](7)
	got = append(got, c.Select.Fields[2].Get(p))
	if want := "spec.nodeName=n spec.hostNetwork=false spec.priority= named=Failed 7"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestValidationOfChanges(t *testing.T) {
	says := func(what string) func(*appsv1.Deployment) field.ErrorList {
		return func(*appsv1.Deployment) field.ErrorList { return field.ErrorList{field.Forbidden(nil, what)} }
	}
	changed := func(_, old *appsv1.Deployment) field.ErrorList {
		return field.ErrorList{field.Forbidden(nil, "changed from "+old.Name)}
	}
	for _, c := range []struct {
		name                  string
		write                 Write[*appsv1.Deployment]
		create, same, another string
	}{
		{name: "none"},
		{"whole", Write[*appsv1.Deployment]{Validate: Whole(says("whole"), changed)}, "whole", "whole, changed from old",
			"whole, changed from old"},
		{"new", Write[*appsv1.Deployment]{Validate: OnCreate(says("new"), changed)}, "new", "changed from old",
			"changed from old"},
		{"immutable", Write[*appsv1.Deployment]{Validate: Whole(says("whole")), Immutable: []string{"spec.replicas"},
			Fixed: []string{"spec.minReadySeconds"}}, "whole", "whole", "whole, spec.replicas 2, spec.minReadySeconds <nil>"},
	} {
		k := deploymentKind()
		k.Write = c.write
		done := completed(t, k)
		text := func(errs field.ErrorList) string {
			var out []string
			for _, e := range errs {
				if out = append(out, e.Detail); e.Type == field.ErrorTypeInvalid {
					value := e.BadValue
					if p, ok := value.(*int32); ok {
						value = *p
					}
					out[len(out)-1] = fmt.Sprint(e.Field, " ", value)
				}
			}
			return strings.Join(out, ", ")
		}
		old := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}}
		other := old.DeepCopy()
		other.Spec.Replicas, other.Spec.MinReadySeconds = ptr.To[int32](2), 1
		for what, got := range map[string][2]string{
			"creation":         {text(done.Validate(t.Context(), old, nil)), c.create},
			"update without":   {text(done.Validate(t.Context(), old.DeepCopy(), old)), c.same},
			"update of fields": {text(done.Validate(t.Context(), other, old)), c.another},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %s: %q, want %q", c.name, what, got[0], got[1])
			}
		}
	}
}

func TestScaleOfFields(t *testing.T) {
	s := ScaleOf[*corev1.ReplicationController]()
	r := &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Selector: map[string]string{"a": "b"}},
		Status: corev1.ReplicationControllerStatus{Replicas: 4}}
	if got, err := s.Get(r); err != nil || *got != (Scale{StatusReplicas: 4, Selector: "a=b"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.Set(r, 9); err != nil || *r.Spec.Replicas != 9 {
		t.Errorf("%v, %v", r.Spec.Replicas, err)
	}
	d := ScaleOf[*appsv1.Deployment]()
	if got, err := d.Get(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}}); err != nil ||
		got.Replicas != 2 || got.Selector != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestUnsetAndDescribedColumns(t *testing.T) {
	columns := []Column{
		{Name: "Node", Field: "spec.nodeName", Unset: "<none>"},
		{Name: "Priority", Field: "spec.priority", Unset: "<unset>"},
		{Name: "Host", Field: "spec.hostname", Unset: "<none>", Description: ".spec.containers.name"},
		{Name: "Groups", Field: "spec.os.name", Unset: "<none>"},
	}
	c := completed(t, &Kind[*corev1.Pod]{Hub: corev1.SchemeGroupVersion.WithKind("Pod"), Columns: columns})
	p := &corev1.Pod{}
	if got := c.TableCells(p, since); !slices.Equal(got, []any{"<none>", "<unset>", "<none>", "<none>"}) {
		t.Errorf("%v", got)
	}
	p.Spec = corev1.PodSpec{NodeName: "n", Priority: ptr.To[int32](0), OS: &corev1.PodOS{Name: "linux"}}
	if got := c.TableCells(p, since); !slices.Equal(got, []any{"n", int64(0), "<none>", "linux"}) {
		t.Errorf("%v", got)
	}
	if got := c.TableColumns()[2].Description; got != (corev1.Container{}).SwaggerDoc()["name"] {
		t.Errorf("description %q", got)
	}
	b := completed(t, &Kind[*policyv1.PodDisruptionBudget]{
		Hub:     policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		Columns: []Column{{Field: "spec.minAvailable", Unset: "N/A"}}})
	min := intstr.FromString("50%")
	budget := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &min}}
	if got := b.TableCells(budget, since); got[0] != "50%" {
		t.Errorf("%v", got)
	}
	v := completed(t, &Kind[*corev1.PersistentVolume]{Hub: corev1.SchemeGroupVersion.WithKind("PersistentVolume"),
		Columns: []Column{{Field: "spec.accessModes", Unset: "<none>"}}})
	volume := &corev1.PersistentVolume{}
	if got := v.TableCells(volume, since); got[0] != "<none>" {
		t.Errorf("%v", got)
	}
	volume.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{"A", "B"}
	if got := v.TableCells(volume, since); got[0] != "A,B" {
		t.Errorf("%v", got)
	}
}

func TestNamesOfTheHub(t *testing.T) {
	representation := Typed[*rbacv1.Role]{
		StorageVersion: rbacv1alpha1.SchemeGroupVersion.WithKind(""),
		Versions:       SameFields[*rbacv1.Role]("v1beta1", "extensions/v1"),
		Former: []Version[*rbacv1.Role]{SimilarFields(rbacv1alpha1.SchemeGroupVersion,
			func(old *rbacv1alpha1.Role, r *rbacv1.Role) error {
				r.Namespace = old.Name + "s"
				return nil
			}, nil)},
	}
	k := completed(t, &Kind[*rbacv1.Role]{Hub: rbacv1.SchemeGroupVersion.WithKind("Role"), Representation: representation})
	typed := k.Representation.(Typed[*rbacv1.Role])
	got := []string{k.Names.Plural, k.Names.Singular, typed.StorageVersion.String(), typed.Versions[0].Kind.String(),
		typed.Versions[1].Kind.String(), typed.Former[0].Kind.String()}
	if want := []string{"roles", "role", "rbac.authorization.k8s.io/v1alpha1, Kind=Role", "rbac.authorization.k8s.io/v1beta1, Kind=Role",
		"extensions/v1, Kind=Role", "rbac.authorization.k8s.io/v1alpha1, Kind=Role"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r, err := typed.Former[0].ToHub(&rbacv1alpha1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Rules: []rbacv1alpha1.PolicyRule{{Verbs: []string{"get"}}}})
	if err != nil || r.Name != "r" || r.Namespace != "rs" || r.Rules[0].Verbs[0] != "get" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := typed.Former[0].ToHub(r); err == nil {
		t.Error("converted an object of the hub")
	}
}
