package quota

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func text(l corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		q := l[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	return strings.Join(parts, " ")
}

func pod(requests, limits corev1.ResourceList) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}}}}
}

func TestUsage(t *testing.T) {
	gold, no := "gold", false
	ended := pod(list("cpu", "1"), nil)
	ended.Status.Phase = corev1.PodFailed
	ports := []corev1.ServicePort{{Port: 1}, {Port: 2, NodePort: 30001}}
	for _, c := range []struct {
		name     string
		resource string
		obj      runtime.Object
		want     string
	}{
		{"any object", "widgets.example.com", &metav1.PartialObjectMetadata{}, "count/widgets.example.com=1"},
		{"config map", "configmaps", &corev1.ConfigMap{}, "configmaps=1 count/configmaps=1"},
		{"pod", "pods", pod(list("cpu", "100m", "example.com/gpu", "2"), list("memory", "1Gi", "example.com/gpu", "2")),
			"count/pods=1 cpu=100m limits.memory=1Gi pods=1 requests.cpu=100m requests.example.com/gpu=2"},
		{"ended pod", "pods", ended, "count/pods=1"},
		{"service", "services", &corev1.Service{Spec: corev1.ServiceSpec{Ports: ports}}, "count/services=1 services=1 services.nodeports=0"},
		{"node ports", "services", &corev1.Service{Spec: corev1.ServiceSpec{Type: "NodePort", Ports: ports}}, "count/services=1 services=1 services.nodeports=2"},
		{"load balancer", "services", &corev1.Service{Spec: corev1.ServiceSpec{Type: "LoadBalancer", Ports: ports, AllocateLoadBalancerNodePorts: &no}},
			"count/services=1 services=1 services.loadbalancers=1 services.nodeports=1"},
		{"claim", "persistentvolumeclaims", &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &gold, Resources: corev1.VolumeResourceRequirements{Requests: list("storage", "1Gi")},
		}}, "count/persistentvolumeclaims=1 gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 " +
			"gold.storageclass.storage.k8s.io/requests.storage=1Gi persistentvolumeclaims=1 requests.storage=1Gi"},
	} {
		if got := text(Usage(schema.ParseGroupResource(c.resource), c.obj)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSpend(t *testing.T) {
	for _, c := range []struct {
		name, want, used   string
		hard, have, charge corev1.ResourceList
	}{
		{name: "fits", hard: list("pods", "2"), have: list("pods", "1"), charge: list("pods", "1", "cpu", "1"), used: "pods=2"},
		{name: "nothing counted", hard: list("pods", "2"), have: list("pods", "2"), charge: list("services", "1"), used: "pods=2"},
		{
			name: "exceeded", hard: list("pods", "2", "limits.cpu", "1", "requests.cpu", "9"), have: list("pods", "2", "limits.cpu", "500m", "requests.cpu", "0"),
			charge: list("pods", "1", "limits.cpu", "1", "requests.cpu", "1"), used: "limits.cpu=500m pods=2 requests.cpu=0",
			want: "exceeded quota: q, requested: limits.cpu=1,pods=1, used: limits.cpu=500m,pods=2, limited: limits.cpu=1,pods=2",
		},
	} {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Status: corev1.ResourceQuotaStatus{Hard: c.hard, Used: c.have}}
		err := Exceeded(q, c.charge)
		if got := errText(err); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if err == nil {
			Spend(q, c.charge)
		}
		if got := text(q.Status.Used); got != c.used {
			t.Errorf("%s: used %s, want %s", c.name, got, c.used)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestDemand(t *testing.T) {
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Status: corev1.ResourceQuotaStatus{
		Hard: list("requests.cpu", "1", "limits.memory", "1Gi", "pods", "1"), Used: list("requests.cpu", "0", "limits.memory", "0", "pods", "0"),
	}}
	unknown := q.DeepCopy()
	unknown.Status.Used = nil
	pods := schema.GroupResource{Resource: "pods"}
	whole := pod(nil, nil)
	whole.Spec.Resources = &corev1.ResourceRequirements{Requests: list("memory", "1")}
	for _, c := range []struct {
		name string
		q    *corev1.ResourceQuota
		pod  *corev1.Pod
		want string
	}{
		{"the pod says something as a whole", q, whole, ""},
		{"all said", q, pod(list("cpu", "1"), list("memory", "1")), ""},
		{"one missing", q, pod(list("cpu", "1"), nil), "failed quota: q: must specify limits.memory for: c"},
		{"both missing", q, pod(nil, nil), "failed quota: q: must specify limits.memory for: c; requests.cpu for: c"},
		{"unknown use", unknown, pod(list("cpu", "1"), list("memory", "1")), "status unknown for quota: q, resources: limits.memory,pods,requests.cpu"},
	} {
		if got := errText(Demand(c.q, pods, c.pod)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestMatches(t *testing.T) {
	deadline := int64(1)
	job := pod(list("cpu", "1"), nil)
	job.Spec.ActiveDeadlineSeconds, job.Spec.PriorityClassName = &deadline, "high"
	priority := func(op corev1.ScopeSelectorOperator, values ...string) *corev1.ScopeSelector {
		return &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
			ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: op, Values: values,
		}}}
	}
	for _, c := range []struct {
		name     string
		hard     string
		scopes   []corev1.ResourceQuotaScope
		selector *corev1.ScopeSelector
		want     bool
	}{
		{name: "no scope", hard: "pods", want: true},
		{name: "other resource", hard: "services"},
		{name: "terminating", hard: "pods", scopes: []corev1.ResourceQuotaScope{"Terminating"}, want: true},
		{name: "not terminating", hard: "pods", scopes: []corev1.ResourceQuotaScope{"NotTerminating"}},
		{name: "best effort", hard: "pods", scopes: []corev1.ResourceQuotaScope{"BestEffort"}},
		{name: "both", hard: "pods", scopes: []corev1.ResourceQuotaScope{"Terminating", "NotBestEffort"}, want: true},
		{name: "priority in", hard: "pods", selector: priority("In", "high"), want: true},
		{name: "priority not in", hard: "pods", selector: priority("NotIn", "high")},
		{name: "priority exists", hard: "pods", selector: priority("Exists"), want: true},
	} {
		q := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Scopes: c.scopes, ScopeSelector: c.selector}, Status: corev1.ResourceQuotaStatus{Hard: list(c.hard, "1")}}
		if got := Matches(q, schema.GroupResource{Resource: "pods"}, job); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	scoped := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"Terminating"}}, Status: corev1.ResourceQuotaStatus{Hard: list("configmaps", "1")}}
	if Matches(scoped, schema.GroupResource{Resource: "configmaps"}, &corev1.ConfigMap{}) {
		t.Error("a config map is in a scope of pods")
	}
}

func TestCharge(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	plain := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	nodePort := plain.DeepCopy()
	nodePort.Spec.Type = corev1.ServiceTypeNodePort
	pods := schema.GroupResource{Resource: "pods"}
	forever := pod(list("cpu", "1"), nil)
	ending := forever.DeepCopy()
	ending.Spec.ActiveDeadlineSeconds = new(int64)
	terminating := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}}}
	for _, c := range []struct {
		name     string
		quota    *corev1.ResourceQuota
		of       schema.GroupResource
		obj, old runtime.Object
		want     string
	}{
		{"new", &corev1.ResourceQuota{}, services, plain, nil, "count/services=1 services=1"},
		{"grows", &corev1.ResourceQuota{}, services, nodePort, plain, "services.nodeports=1"},
		{"shrinks", &corev1.ResourceQuota{}, services, plain, nodePort, ""},
		{"stays", terminating, pods, ending, ending, ""},
		{"comes into the scope", terminating, pods, ending, forever, "count/pods=1 cpu=1 pods=1 requests.cpu=1"},
	} {
		got, err := Charge(c.quota, c.of, c.obj, c.old)
		if err != nil || text(got) != c.want {
			t.Errorf("%s: %s %v, want %s", c.name, text(got), err, c.want)
		}
	}
	if _, err := Charge(terminating, pods, pod(list("cpu", "-1"), nil), nil); err == nil {
		t.Error("a negative request is charged")
	}
}

// A claim is in the scope of each VolumeAttributesClass that it has to do with.
func TestClaimInScope(t *testing.T) {
	claim := func(wanted, current, target string) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{}
		if wanted != "" {
			c.Spec.VolumeAttributesClassName = &wanted
		}
		if current != "" {
			c.Status.CurrentVolumeAttributesClassName = &current
		}
		if target != "" {
			c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: target}
		}
		return c
	}
	for _, c := range []struct {
		name  string
		claim *corev1.PersistentVolumeClaim
		want  string // the operators, with gold where they take values, that select the claim
	}{
		{"none", claim("", "", ""), "DoesNotExist NotIn"},
		{"wanted", claim("gold", "", ""), "Exists In"},
		{"another", claim("silver", "", ""), "Exists NotIn"},
		{"changed", claim("silver", "gold", ""), "Exists In NotIn"},
		{"about to change", claim("", "", "gold"), "Exists In"},
	} {
		var got []string
		for _, op := range []corev1.ScopeSelectorOperator{"DoesNotExist", "Exists", "In", "NotIn"} {
			r := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopeVolumeAttributesClass, Operator: op}
			if op == "In" || op == "NotIn" {
				r.Values = []string{"gold"}
			}
			if inScope(r, c.claim) {
				got = append(got, string(op))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

func TestCrossesNamespaces(t *testing.T) {
	term, other := corev1.PodAffinityTerm{}, corev1.PodAffinityTerm{Namespaces: []string{"other"}}
	weighted := make([]corev1.WeightedPodAffinityTerm, 40_000)
	begun := time.Now()
	for _, c := range []struct {
		affinity *corev1.Affinity
		want     bool
	}{
		{nil, false},
		{&corev1.Affinity{}, false},
		{&corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term, other}}}, true},
		{&corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}, false},
		{&corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: other}}}}, true},
		{&corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}}, false},
	} {
		if got := crossesNamespaces(c.affinity); got != c.want {
			t.Errorf("%v: %t", c.affinity, got)
		}
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it takes %v", took)
	}
}

func TestCovered(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	limited := []Limited{{Resource: "services", MatchContains: []string{"nodeports"}}}
	service := func(kind corev1.ServiceType) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{{Port: 1}}}}
	}
	quotas := []*corev1.ResourceQuota{{Status: corev1.ResourceQuotaStatus{Hard: list("services.nodeports", "1")}}}
	if err := Covered(limited, services, service(corev1.ServiceTypeClusterIP), nil); err != nil {
		t.Errorf("a service without node ports needs no quota for them: %v", err)
	}
	if err := Covered(limited, services, service(corev1.ServiceTypeNodePort), nil); err == nil {
		t.Error("a node port without a quota was accepted")
	}
	if err := Covered(limited, services, service(corev1.ServiceTypeNodePort), quotas); err != nil {
		t.Error(err)
	}
}
