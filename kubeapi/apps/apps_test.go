package apps

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/kindtest"
	"triplane.dev/kubeapi/podspec"
)

const pods = `
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: "i:1"}]}}
`

func TestDeploymentDefaults(t *testing.T) {
	d := kindtest.New(t, deploymentKind(podspec.Options{}), "metadata: {name: d}\nspec:"+pods)
	s := d.Spec
	if *s.Replicas != 1 || *s.RevisionHistoryLimit != 10 || *s.ProgressDeadlineSeconds != 600 || d.Generation != 1 {
		t.Errorf("unexpected defaults %+v", s)
	}
	if r := s.Strategy.RollingUpdate; r == nil || r.MaxSurge.String() != "25%" || r.MaxUnavailable.String() != "25%" {
		t.Errorf("unexpected strategy %+v", s.Strategy)
	}
}

func TestDeploymentValidation(t *testing.T) {
	k := deploymentKind(podspec.Options{})
	kindtest.Refused(t, k, "metadata: {name: d}\nspec:"+pods)
	kindtest.Refused(t, k, "spec:\n  replicas: -1\n  minReadySeconds: 600"+pods,
		"spec.replicas: Invalid value: -1: must be greater than or equal to 0",
		"spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds")
	kindtest.Refused(t, k, "spec:\n  strategy: {type: Foo}"+pods,
		`spec.strategy: Unsupported value: {"type":"Foo"}: supported values: "Recreate", "RollingUpdate"`)
	kindtest.Refused(t, k, "spec:\n  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}"+pods,
		"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0")
	kindtest.UpdateRefused(t, k, "spec:"+pods, "spec:"+strings.ReplaceAll(pods, "app: a", "app: b"),
		`spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable`)
}

func TestDeploymentGeneration(t *testing.T) {
	k := deploymentKind(podspec.Options{})
	old := kindtest.New(t, k, "spec:"+pods)
	same, more := old.DeepCopy(), old.DeepCopy()
	*more.Spec.Replicas = 3
	kindtest.Update(t, k, same, old)
	kindtest.Update(t, k, more, old)
	if same.Generation != 1 || more.Generation != 2 {
		t.Errorf("generations %d and %d, want 1 and 2", same.Generation, more.Generation)
	}
}

func TestStatefulSetFixedFields(t *testing.T) {
	kindtest.UpdateRefused(t, statefulSetKind(podspec.Options{}, statefulSetGates{}), "spec:\n  serviceName: a"+pods, "spec:\n  serviceName: b\n  replicas: 4"+pods,
		`spec.serviceName: Invalid value: "b": field is immutable`)
	kindtest.UpdateRefused(t, statefulSetKind(podspec.Options{}, statefulSetGates{}), "spec:\n  volumeClaimTemplates: []"+pods,
		"spec:\n  serviceName: b\n  podManagementPolicy: Parallel\n  volumeClaimTemplates: [{metadata: {name: v}}]"+pods,
		`spec.volumeClaimTemplates: Invalid value: [{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"v"},`+
			`"spec":{"resources":{},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}]: field is immutable`,
		`spec.serviceName: Invalid value: "b": field is immutable`, `spec.podManagementPolicy: Invalid value: "Parallel": field is immutable`)
}

func TestDaemonSetTemplateGeneration(t *testing.T) {
	k := daemonSetKind(podspec.Options{})
	old := kindtest.New(t, k, "spec:"+pods)
	if g := templateGeneration(old); g != 1 {
		t.Fatalf("template generation %d, want 1", g)
	}
	changed := old.DeepCopy()
	changed.Spec.Template.Spec.Containers[0].Image = "i:2"
	kindtest.Update(t, k, changed, old)
	if g := templateGeneration(changed); g != 2 {
		t.Errorf("template generation %d, want 2", g)
	}
}

func TestControllerRevisionData(t *testing.T) {
	kindtest.Refused(t, controllerRevisionKind(), "revision: -1\ndata: [1]",
		"revision: Invalid value: -1: must be greater than or equal to 0",
		"data: Required value: data must be a valid JSON object")
}

func TestStatefulSetMaxUnavailable(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		s := kindtest.New(t, statefulSetKind(podspec.Options{}, statefulSetGates{parallel: parallel}), "metadata: {name: s}\nspec:"+pods)
		if m := s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable; (m != nil && m.IntValue() == 1) != parallel {
			t.Errorf("parallel %v: maxUnavailable is %v", parallel, m)
		}
	}
}

func TestRecreateNeedsItsGate(t *testing.T) {
	for gate, want := range map[bool]string{
		true:  "spec.updateStrategy.rollingUpdate: Invalid value: {}: only allowed for updateStrategy 'RollingUpdate'",
		false: `spec.updateStrategy: Invalid value: {"type":"Recreate","rollingUpdate":{}}: must be 'RollingUpdate' or 'OnDelete'`,
	} {
		u := appsv1.StatefulSetUpdateStrategy{Type: appsv1.RecreateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{}}
		errs := validateStatefulSetStrategy(&u, gate, field.NewPath("spec", "updateStrategy"))
		if len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("gate %t: %v, want %s", gate, errs, want)
		}
		u.RollingUpdate = nil
		if errs := validateStatefulSetStrategy(&u, gate, field.NewPath("s")); (len(errs) == 0) != gate {
			t.Errorf("gate %t: %v", gate, errs)
		}
	}
}
