package admission

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/admission/admissiontest"
	"triplane.dev/kubeapi/group"
)

// pluginCase is an operation that a plugin mutates or rejects. Objects are YAML.
type pluginCase struct {
	name, plugin string
	config       string // of the plugin
	resource     string // with its subresource; pods
	object, old  string
	user         string // alice
	// changed must be contained in the object, as JSON; refused must be contained in the error.
	changed, refused string
	warned           string // all warnings, joined by "; "
}

// stock are the objects that plugins read, by resource.
var stock = map[string]map[string]string{
	"namespaces": {
		"n": `{metadata: {name: n, annotations: {scheduler.alpha.kubernetes.io/node-selector: "zone=a"}}}`,
		"tolerant": `{metadata: {name: tolerant, annotations: {
			scheduler.alpha.kubernetes.io/defaultTolerations: '[{"key":"dedicated","operator":"Exists"}]',
			scheduler.alpha.kubernetes.io/tolerationsWhitelist: '[{"key":"dedicated","operator":"Exists"}]'}}}`,
	},
	"pods": {
		"full/plain":     "{metadata: {name: plain, namespace: full}, spec: {hostPID: true}}",
		"full/sandboxed": "{metadata: {name: sandboxed, namespace: full}, spec: {hostPID: true, runtimeClassName: sandboxed}}",
	},
	"limitranges": {
		"limited/l": "{metadata: {name: l, namespace: limited}, spec: {limits: [{type: Pod, max: {cpu: 4}, " +
			"maxLimitRequestRatio: {cpu: 2}}]}}",
	},
	"nodes": {
		"linux":   `{metadata: {name: linux, labels: {kubernetes.io/os: linux, topology.kubernetes.io/zone: z, topology.kubernetes.io/region: r, other: x}}, status: {allocatable: {cpu: "2", memory: 1Gi}}}`,
		"plain":   `{metadata: {name: plain}, status: {declaredFeatures: [DRANodeAllocatableResources]}}`,
		"windows": `{metadata: {name: windows, labels: {kubernetes.io/os: windows}}, status: {declaredFeatures: [DRANodeAllocatableResources]}}`,
	},
}

func stocked(t *testing.T) *group.Stores {
	t.Helper()
	stores := group.NewStores()
	for resource, byName := range stock {
		found := admissiontest.Objects{}
		for name, text := range byName {
			found[name] = parsed(t, resource, text)
		}
		stores.Put(core(resource), found.Resource())
	}
	return stores
}

// parsed parses an object of a resource.
func parsed(t *testing.T, resource, text string) runtime.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	plural, sub, _ := strings.Cut(resource, "/")
	obj := map[string]func() runtime.Object{
		"pods":                func() runtime.Object { return &corev1.Pod{} },
		"namespaces":          func() runtime.Object { return &corev1.Namespace{} },
		"limitranges":         func() runtime.Object { return &corev1.LimitRange{} },
		"nodes":               func() runtime.Object { return &corev1.Node{} },
		"configmaps":          func() runtime.Object { return &corev1.ConfigMap{} },
		"events":              func() runtime.Object { return &corev1.Event{} },
		"jobs":                func() runtime.Object { return &batchv1.Job{} },
		"podgroups":           func() runtime.Object { return &schedulingv1alpha3.PodGroup{} },
		"resourceslices":      func() runtime.Object { return &resourcev1.ResourceSlice{} },
		"clustertrustbundles": func() runtime.Object { return &certificatesv1.ClusterTrustBundle{} },
		"bindings":            func() runtime.Object { return &corev1.Binding{} },
	}[plural]()
	if sub == "binding" {
		obj = &corev1.Binding{}
	}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "\t", " ")), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func (c *pluginCase) attributes(t *testing.T) *admission.Attributes {
	t.Helper()
	if c.resource == "" {
		c.resource = "pods"
	}
	plural, sub, _ := strings.Cut(c.resource, "/")
	a := &admission.Attributes{
		Operation: admission.Create, Resource: schema.GroupVersionResource{Version: "v1", Resource: plural},
		Subresource: sub,
		Namespace:   "n", Name: "p", User: &user.Info{Name: "alice"}, Object: parsed(t, c.resource, c.object),
	}
	if c.old != "" {
		a.Operation, a.OldObject = admission.Update, parsed(t, c.resource, c.old)
	}
	if m, err := meta.Accessor(a.Object); err == nil && m.GetNamespace() != "" {
		a.Namespace = m.GetNamespace()
	}
	if c.user != "" {
		a.User.Name = c.user
	}
	return a
}

// security returns the configuration of PodSecurity with some fields.
func security(version, fields string) string {
	return "apiVersion: pod-security.admission.config.k8s.io/" + version + "\nkind: PodSecurityConfiguration\n" +
		strings.ReplaceAll(fields, "}, ", "}\n") + "\n"
}

// run calls a plugin in both phases.
func (c *pluginCase) run(ctx context.Context, t *testing.T) (*admission.Attributes, error) {
	t.Helper()
	d := &Dependencies{
		Stores: stocked(t), FeatureEnabled: func(string) bool { return true }, Groups: discovery.NewGroups(),
		Authorizer: admissiontest.Allowed(func(a *authorizer.Attributes) bool {
			return a.Verb == "attest" && a.Name == "example.com/mine" ||
				a.User.Name == "finalizer" && a.Resource == "*" && a.Subresource == "finalizers"
		}),
	}
	rows := Table()
	row := &rows[slices.IndexFunc(rows, func(r Plugin) bool { return r.Name == c.plugin })]
	var plugin admission.Interface
	if row.make != nil {
		plugin = row.make(d)
	} else {
		var err error
		if plugin, err = row.configure(d, []byte(c.config)); err != nil {
			return nil, err
		}
	}
	a, chain := c.attributes(t), chainOf(plugin)
	if err := chain.Admit(ctx, a); err != nil {
		return a, err
	}
	return a, chain.Validate(ctx, a)
}

func TestPlugins(t *testing.T) {
	const (
		limits = "{apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: "
		bound  = "{spec: {nodeName: linux, containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}}"
	)
	for _, c := range []pluginCase{
		{name: "admits", plugin: "AlwaysAdmit", object: "{}"},
		{name: "denies", plugin: "AlwaysDeny", object: "{}",
			refused: `pods "p" is forbidden: admission control is denying all modifications`},

		{name: "new images", plugin: "AlwaysPullImages",
			object:  "{spec: {initContainers: [{image: a}], volumes: [{name: v, image: {reference: r}}]}}",
			changed: `"image":"a","resources":{},"imagePullPolicy":"Always"`},
		{name: "a volume's", plugin: "AlwaysPullImages",
			object: "{spec: {volumes: [{name: v, image: {reference: r}}]}}", changed: `"pullPolicy":"Always"`},
		{name: "the same images", plugin: "AlwaysPullImages", object: "{spec: {containers: [{image: a}]}}",
			old: "{spec: {containers: [{image: a}]}}", changed: `"image":"a","resources":{}}`},
		{name: "debugging", plugin: "AlwaysPullImages", resource: "pods/ephemeralcontainers",
			object: "{spec: {ephemeralContainers: [{image: b}]}}",
			old:    "{spec: {}}", changed: `"imagePullPolicy":"Always"`},

		{name: "mine", plugin: "ClusterTrustBundleAttest", resource: "clustertrustbundles",
			object: "{spec: {signerName: example.com/mine}}"},
		{name: "theirs", plugin: "ClusterTrustBundleAttest", resource: "clustertrustbundles",
			object:  "{spec: {signerName: example.com/theirs}}",
			refused: `user not permitted to attest for signerName "example.com/theirs"`},
		{name: "nobody's", plugin: "ClusterTrustBundleAttest", resource: "clustertrustbundles",
			object: "{spec: {trustBundle: x}}"},
		{name: "unchanged", plugin: "ClusterTrustBundleAttest", resource: "clustertrustbundles",
			object: "{spec: {signerName: example.com/theirs}, metadata: {labels: {a: b}}}",
			old:    "{spec: {signerName: example.com/theirs}}"},

		{name: "within the limit", plugin: "EventRateLimit", config: limits + "[{type: Namespace, qps: 1, burst: 1}]}",
			resource: "events", object: "{}"},
		{name: "not an event", plugin: "EventRateLimit", config: limits + "[{type: Server, qps: 1, burst: 1}]}",
			object: "{}"},
		{name: "no limit", plugin: "EventRateLimit", config: limits + "[]}", refused: "limits: Invalid value"},
		{name: "wrong limits", plugin: "EventRateLimit", config: limits +
			"[{type: Cluster, qps: 0, burst: -1, cacheSize: -1}]}",
			refused: `[limits[0].type: Unsupported value: "Cluster": supported values: "Server", "Namespace", "User", "SourceAndObject", limits[0].burst: Invalid value: -1: must be positive, limits[0].qps: Invalid value: 0: must be positive, limits[0].cacheSize: Invalid value: -1: must not be negative]`},
		{name: "another kind", plugin: "EventRateLimit", config: "{apiVersion: v1, kind: Limits}",
			refused: `no kind "Limits" is registered for version "v1"`},
		{name: "an unknown field is ignored", plugin: "EventRateLimit", config: limits +
			"[{type: Server, qps: 1, burst: 1, size: 1}]}", resource: "events", object: "{}"},

		{name: "extended resources", plugin: "ExtendedResourceToleration",
			object:  "{spec: {containers: [{resources: {requests: {cpu: 1, example.com/gpu: 1}}}]}}",
			changed: `"tolerations":[{"key":"example.com/gpu","operator":"Exists","effect":"NoSchedule"}]`},
		{name: "extended resources beside a wider toleration", plugin: "ExtendedResourceToleration",
			object: "{spec: {tolerations: [{operator: Exists}], containers: [{resources: {requests: " +
				"{example.com/gpu: 1}}}]}}",
			changed: `"tolerations":[{"operator":"Exists"},{"key":"example.com/gpu","operator":"Exists","effect":"NoSchedule"}]`},
		{name: "no extended resources", plugin: "ExtendedResourceToleration",
			object:  "{spec: {containers: [{resources: {requests: {cpu: 1}}}]}}",
			changed: `"spec":{"containers":[{"name":"","resources":{"requests":{"cpu":"1"}}}]}`},

		{name: "without a configuration", plugin: "ImagePolicyWebhook", refused: "no config specified"},
		{name: "too long", plugin: "ImagePolicyWebhook", config: "{imagePolicy: {allowTTL: 9999}}",
			refused: "allowTTL: valid value is between 1 and 1800, got 9999"},
		{name: "negative", plugin: "ImagePolicyWebhook", config: "{imagePolicy: {retryBackoff: -2}}",
			refused: "retryBackoff: valid value is between 1 and 300000, got -2"},
		{name: "no limit", plugin: "ImagePolicyWebhook", config: "{imagePolicy: {allowTTL: -1}}",
			refused: "no configuration has been provided"},

		{name: "a ratio is that of the containers", plugin: "LimitRanger",
			object: "{metadata: {namespace: limited}, spec: {overhead: {cpu: 1}, containers: [{name: c, resources: " +
				"{requests: {cpu: 1}, limits: {cpu: 3}}}]}}",
			refused: "cpu max limit to request ratio per Pod is 2, but provided ratio is 3.000000"},
		{name: "a maximum is that of the containers", plugin: "LimitRanger",
			object: "{metadata: {namespace: limited}, spec: {overhead: {cpu: 1}, containers: [{name: c, resources: " +
				"{requests: {cpu: 4}, limits: {cpu: 4}}}]}}"},

		{name: "apart by node", plugin: "LimitPodHardAntiAffinityTopology",
			object: "{spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
				"[{topologyKey: kubernetes.io/hostname}]}}}}"},
		{name: "apart by zone", plugin: "LimitPodHardAntiAffinityTopology",
			object: "{spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
				"[{topologyKey: zone}]}}}}",
			refused: "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key " +
				"kubernetes.io/hostname is allowed"},

		{name: "there", plugin: "NamespaceExists", object: "{}"},
		{name: "not there", plugin: "NamespaceExists", object: "{metadata: {namespace: x}}", refused: `"x" not found`},

		{name: "needs nothing", plugin: "NodeDeclaredFeatureValidator",
			object: "{spec: {nodeName: linux}, metadata: {labels: {a: b}}}", old: "{spec: {nodeName: linux}}"},
		{name: "needs a feature", plugin: "NodeDeclaredFeatureValidator", resource: "pods/resize",
			object:  "{spec: {nodeName: linux, resources: {limits: {cpu: 2}}}}",
			old:     "{spec: {nodeName: linux, resources: {limits: {cpu: 1}}}}",
			refused: `which are not available on node "linux"`},
		{name: "slice of a node with the feature", plugin: "NodeDeclaredFeatureValidator", resource: "resourceslices",
			object: "{spec: {nodeName: windows, devices: [{nodeAllocatableResources: {cpu: {}}}]}}"},
		{name: "slice of a node without it", plugin: "NodeDeclaredFeatureValidator", resource: "resourceslices",
			object:  "{spec: {nodeName: linux, devices: [{name: d}, {name: e, nodeAllocatableResources: {cpu: {}}}]}}",
			refused: `node "linux" does not support DRANodeAllocatableResources feature`},
		{name: "slice of an unknown node", plugin: "NodeDeclaredFeatureValidator", resource: "resourceslices",
			object:  "{spec: {nodeName: x, devices: [{name: d, nodeAllocatableResources: {cpu: {}}}]}}",
			refused: `node "x" not found for device "d"`},
		{name: "slice that needs nothing", plugin: "NodeDeclaredFeatureValidator", resource: "resourceslices",
			object: "{spec: {nodeName: x, devices: [{name: d}]}}"},
		{name: "slice of all nodes", plugin: "NodeDeclaredFeatureValidator", resource: "resourceslices",
			object:  "{spec: {allNodes: true, devices: [{name: d, nodeAllocatableResources: {cpu: {}}}]}}",
			refused: `node "linux" does not support DRANodeAllocatableResources feature`},
		{name: "slice of selected nodes", plugin: "NodeDeclaredFeatureValidator", resource: "resourceslices",
			object: "{spec: {nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, " +
				"operator: In, values: [windows]}]}]}, devices: [{name: d, nodeAllocatableResources: {cpu: {}}}]}}"},
		{name: "slice with nodes per device", plugin: "NodeDeclaredFeatureValidator", resource: "resourceslices",
			object: "{spec: {perDeviceNodeSelection: true, devices: [{nodeName: windows, nodeAllocatableResources: " +
				"{cpu: {}}}, {name: e, nodeName: gone, nodeAllocatableResources: {cpu: {}}}]}}",
			refused: `node "gone" not found for device "e"`},

		{name: "new with an owner", plugin: "OwnerReferencesPermissionEnforcement",
			object: "{metadata: {ownerReferences: [{uid: u}]}}"},
		{name: "another owner", plugin: "OwnerReferencesPermissionEnforcement",
			object: "{metadata: {ownerReferences: [{uid: u}]}}", old: "{}",
			refused: "cannot set an ownerRef on a resource you can't delete"},
		{name: "blocked by nothing known", plugin: "OwnerReferencesPermissionEnforcement",
			object: "{metadata: {ownerReferences: [{uid: u, apiVersion: v1, kind: Thing, blockOwnerDeletion: true}]}}",
			refused: "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion v1 " +
				"Kind Thing: no matches for kind \"Thing\" in version \"v1\""},
		{name: "blocked by a user of all finalizers", plugin: "OwnerReferencesPermissionEnforcement",
			object: "{metadata: {namespace: finalized, ownerReferences: [{uid: u, apiVersion: v1, kind: Thing, " +
				"blockOwnerDeletion: true}]}}", user: "finalizer"},

		{name: "protected", plugin: "PodGroupProtection", resource: "podgroups",
			object:  "{spec: {schedulingPolicy: {}}}",
			changed: `"finalizers":["scheduling.k8s.io/podgroup-protection"]`},

		{name: "the namespace's selector", plugin: "PodNodeSelector", object: "{spec: {nodeSelector: {disk: ssd}}}",
			changed: `"nodeSelector":{"disk":"ssd","zone":"a"}`},
		{name: "the cluster's selector", plugin: "PodNodeSelector",
			config: "podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: env=test}",
			object: "{metadata: {namespace: tolerant}}", changed: `"nodeSelector":{"env":"test"}`},
		{name: "against it", plugin: "PodNodeSelector", object: "{spec: {nodeSelector: {zone: b}}}",
			refused: "pod node label selector conflicts with its namespace node label selector"},
		{name: "not granted", plugin: "PodNodeSelector", config: "podNodeSelectorPluginConfig: {\"n\": zone=a}",
			object:  "{spec: {nodeSelector: {disk: ssd}}}",
			refused: "pod node label selector labels conflict with its namespace whitelist"},
		{name: "no selector", plugin: "PodNodeSelector", config: "podNodeSelectorPluginConfig: {\"n\": a in (b)}",
			refused: "invalid selector"},

		{name: "too large", plugin: "PodResizeValidator", resource: "pods/resize",
			object: strings.Replace(bound, "cpu: 1", "cpu: 3", 1), old: bound,
			refused: "node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000"},
		{name: "fits", plugin: "PodResizeValidator", resource: "pods/resize",
			object: strings.Replace(bound, "cpu: 1", "cpu: 2", 1), old: bound},
		{name: "smaller than before", plugin: "PodResizeValidator", resource: "pods/resize",
			object: strings.Replace(bound, "cpu: 1", "cpu: 3", 1), old: strings.Replace(bound, "cpu: 1", "cpu: 4", 1),
			refused: "node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000"},
		{name: "as large as before", plugin: "PodResizeValidator", resource: "pods/resize",
			object: strings.Replace(bound, "cpu: 1", "cpu: 3", 1), old: strings.Replace(bound, "cpu: 1", "cpu: 3", 1)},
		{name: "not allocatable", plugin: "PodResizeValidator", resource: "pods/resize",
			object: strings.Replace(bound, "linux", "plain", 1), old: "{}",
			refused: "cpu, requested: 1000, allocatable: 0; memory, requested: 1073741824, allocatable: 0"},
		{name: "not on Linux", plugin: "PodResizeValidator", resource: "pods/resize",
			object: "{spec: {nodeName: windows}}", old: "{}",
			refused: "pod resize is only supported on linux nodes, node \"windows\" is \"windows\""},
		{name: "unchanged on another system", plugin: "PodResizeValidator", resource: "pods/resize",
			object: "{spec: {nodeName: windows}}", old: "{spec: {nodeName: windows}}"},
		{name: "no resize", plugin: "PodResizeValidator", object: "{spec: {nodeName: windows}}", old: "{}"},

		{name: "tolerated", plugin: "PodTolerationRestriction",
			object: "{metadata: {namespace: tolerant}, spec: {tolerations: [{key: dedicated, operator: Exists, " +
				"effect: NoSchedule}]}}",
			changed: `"tolerations":[{"key":"dedicated","operator":"Exists"}]`},
		{name: "too tolerant", plugin: "PodTolerationRestriction",
			object: "{metadata: {namespace: tolerant}, spec: {tolerations: [{key: other}]}}",
			refused: "pod tolerations (possibly merged with namespace default tolerations) conflict with its " +
				"namespace whitelist"},
		{name: "against the cluster's", plugin: "PodTolerationRestriction", object: "{spec: {tolerations: [{key: a}]}}",
			config: "{apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, " +
				"whitelist: [{key: b}], unknown: x}", refused: "conflict with its cluster whitelist"},
		{name: "invalid tolerations", plugin: "PodTolerationRestriction", object: "{}",
			config: "{apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, " +
				"default: [{effect: X}], whitelist: [{key: a_}]}",
			refused: `whitelist[0].key: Invalid value: "a_"`},
		{name: "the cluster's tolerations", plugin: "PodTolerationRestriction", object: "{}",
			config: "{apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, default: " +
				"[{key: k}], whitelist: [{operator: Exists}]}", changed: `"tolerations":[{"key":"k"}]`},

		{name: "no tolerations are added", plugin: "PodTolerationRestriction",
			object:  "{spec: {tolerations: [{key: a, operator: Exists}, {key: a, value: b}]}}",
			config:  "{apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration}",
			changed: `"tolerations":[{"key":"a","operator":"Exists"},{"key":"a","value":"b"}]`},

		{name: "bound", plugin: "PodTopologyLabels", resource: "pods/binding",
			object:  "{target: {kind: Node, name: linux}}",
			changed: `"labels":{"topology.kubernetes.io/region":"r","topology.kubernetes.io/zone":"z"}`},
		{name: "bound the old way", plugin: "PodTopologyLabels", resource: "bindings",
			object: "{target: {kind: Node, name: linux}}", changed: `"metadata":{}`},
		{name: "bound with labels", plugin: "PodTopologyLabels", resource: "pods/binding",
			object:  "{metadata: {labels: {topology.kubernetes.io/zone: own}}, target: {name: linux}}",
			changed: `"topology.kubernetes.io/zone":"z"`},
		{name: "created there", plugin: "PodTopologyLabels", object: "{spec: {nodeName: linux}}",
			changed: `"topology.kubernetes.io/zone":"z"`},
		{name: "an unknown node", plugin: "PodTopologyLabels", object: "{spec: {nodeName: x}}"},

		{name: "a default level", plugin: "PodSecurity", object: "{spec: {hostPID: true}}",
			refused: `violates PodSecurity "baseline:latest": host namespaces (hostPID=true)`,
			config:  security("v1", "defaults: {enforce: baseline}")},
		{name: "an exempt user", plugin: "PodSecurity", object: "{spec: {hostPID: true}}",
			config: security("v1", "defaults: {enforce: baseline}, exemptions: {usernames: [alice]}")},
		{name: "an exempt namespace", plugin: "PodSecurity", object: "{spec: {hostPID: true}}",
			config: security("v1beta1", "defaults: {enforce: baseline}, exemptions: {namespaces: ['n']}")},
		{name: "new labels of an exempt namespace", plugin: "PodSecurity", resource: "namespaces",
			config: security("v1", "defaults: {warn: baseline, warn-version: v1.25}, exemptions: {namespaces: [exempt]}"),
			object: "{metadata: {name: exempt, labels: {pod-security.kubernetes.io/enforce: restricted, " +
				"pod-security.kubernetes.io/audit: privileged, pod-security.kubernetes.io/warn-version: v1.26}}}",
			warned: `namespace "exempt" is exempt from Pod Security, and the policy ` +
				`(enforce=restricted:latest, warn=restricted:v1.26) will be ignored`},
		{name: "an exempt namespace with the default levels", plugin: "PodSecurity", resource: "namespaces",
			config: security("v1", "defaults: {enforce: baseline, warn: baseline}, exemptions: {namespaces: [exempt]}"),
			object: "{metadata: {name: exempt, labels: {pod-security.kubernetes.io/enforce: baseline}}}"},
		{name: "stricter labels of an exempt namespace", plugin: "PodSecurity", resource: "namespaces",
			config: security("v1", "exemptions: {namespaces: [full]}"), old: "{metadata: {name: full}}",
			object: "{metadata: {name: full, labels: {pod-security.kubernetes.io/enforce: baseline}}}",
			warned: `namespace "full" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored`},
		{name: "stricter labels where pods run", plugin: "PodSecurity", resource: "namespaces",
			config: security("v1", "exemptions: {runtimeClasses: [sandboxed]}"), old: "{metadata: {name: full}}",
			object: "{metadata: {name: full, labels: {pod-security.kubernetes.io/enforce: baseline}}}",
			warned: `existing pods in namespace "full" violate the new PodSecurity enforce level "baseline:latest"; ` +
				`plain: host namespaces`},
		{name: "no level", plugin: "PodSecurity", config: security("v1", "defaults: {enforce: none}"),
			refused: `defaults.enforce: Invalid value: "none"`},
		{name: "a field of no level", plugin: "PodSecurity", config: security("v1", "x: y"),
			refused: `unknown field "x"`},

		{name: "a limit of nothing", plugin: "ResourceQuota", config: "{apiVersion: apiserver.config.k8s.io/v1, " +
			"kind: ResourceQuotaConfiguration, limitedResources: [{apiGroup: apps}]}",
			refused: "limitedResources[0].resource: Required value"},
	} {
		t.Run(c.plugin+"/"+c.name, func(t *testing.T) {
			var warnings request.Warnings
			a, err := c.run(request.WithWarnings(t.Context(), &warnings), t)
			if c.refused == "" && err != nil || c.refused != "" &&
				(err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Fatalf("%v, want %q", err, c.refused)
			}
			if got := strings.Join(warnings.Texts(), "; "); got != c.warned {
				t.Errorf("warned %q, want %q", got, c.warned)
			}
			if c.changed == "" {
				return
			}
			text, err := json.Marshal(a.Object)
			if err != nil || !strings.Contains(string(text), c.changed) {
				t.Errorf("%s, %v, want %s", text, err, c.changed)
			}
		})
	}
}

func TestOwnPlugins(t *testing.T) {
	own := admission.Plugin{Name: "Own", New: func(n admission.Needs) (admission.Interface, error) {
		if string(n.Configuration) != `{"a":"b"}` || n.Core == nil {
			t.Errorf("%s, %v", n.Configuration, n.Core)
		}
		return alwaysDeny{}, nil
	}}
	rows := WithOwn([]admission.Plugin{own})
	at := slices.IndexFunc(rows, func(r Plugin) bool { return r.Name == "Own" })
	if len(rows) != len(Table())+1 || rows[at+1].Name != firstDynamic || rows[at].OnByDefault {
		t.Errorf("%d of %d", at, len(rows))
	}
	d := Dependencies{Own: []admission.Plugin{own}, Stores: group.NewStores(), Loopback: loopback(), Configurations: read(t, `{apiVersion: apiserver.config.k8s.io/v1,
kind: AdmissionConfiguration, plugins: [{name: Own, configuration: {a: b}}]}`, "Own")}
	p, err := New(d, func(name string) bool { return name == "Own" })
	if err != nil || !slices.Equal(p.Chain.Names(), []string{"Own"}) {
		t.Errorf("%v", err)
	}
}
