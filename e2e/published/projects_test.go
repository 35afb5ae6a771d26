package published

// project is where a project's module has its CRDs, and examples of objects, as
// patterns below its root.
type project struct {
	module, version string
	crds            []string
	examples        []string
	// examplesIn is the module that has the examples, with its version, where it is another;
	// a plain test run does without them.
	examplesIn string
	// few says that a plain test run takes the project too.
	few bool
}

var projects = []project{
	{module: "sigs.k8s.io/gateway-api", version: "v1.4.0", crds: []string{"config/crd/experimental/*.yaml"}, examples: []string{"examples/standard/*.yaml", "examples/standard/*/*.yaml"}, few: true},
	{module: "istio.io/api", version: "v1.31.1", crds: []string{"kubernetes/customresourcedefinitions.gen.yaml"},
		examplesIn: "istio.io/istio@v0.0.0-20260827124520-eed52ebb66ad", examples: []string{"samples/bookinfo/networking/*.yaml", "samples/external/*.yaml", "samples/h*/*.yaml", "samples/extauthz/*.yaml"}, few: true},
	{module: "github.com/kubernetes-csi/external-snapshotter/client/v8", version: "v8.7.0", crds: []string{"config/crd/*.yaml"}, examples: []string{"hack/cel-tests/*/*-ok.yaml", "hack/cel-tests/*/*-no-class.yaml", "hack/cel-tests/*/*-with-content.yaml", "hack/cel-tests/*/*-with-selector.yaml", "hack/cel-tests/*/vs-source-*[ct].yaml"}, few: true},
	{module: "sigs.k8s.io/karpenter", version: "v1.6.0", crds: []string{"pkg/apis/crds/*.yaml"}, examples: []string{"test/pkg/environment/common/*.yaml"}, few: true},
	{module: "github.com/cert-manager/cert-manager", version: "v1.21.2", crds: []string{"deploy/crds/*.yaml"}, examples: []string{"test/fixtures/*.yaml"}},
	{module: "sigs.k8s.io/cluster-api", version: "v1.14.2", crds: []string{"core/config/crd/bases/*.yaml", "controlplane/kubeadm/config/crd/bases/*.yaml", "bootstrap/kubeadm/config/crd/bases/*.yaml"},
		examplesIn: "sigs.k8s.io/cluster-api/test@v1.14.2", examples: []string{"infrastructure/docker/examples/*.yaml", "infrastructure/docker/templates/clusterclass-*.yaml"}},
	{module: "github.com/prometheus-operator/prometheus-operator", version: "v0.85.0", crds: []string{"example/prometheus-operator-crd/*.yaml"}, examples: []string{"example/user-guides/getting-started/*.yaml", "example/user-guides/alerting/*.yaml", "example/storage/*.yaml", "example/thanos/*.yaml"}},
	{module: "github.com/argoproj/argo-cd/v3", version: "v3.1.0", crds: []string{"manifests/crds/*.yaml"}, examples: []string{"docs/operator-manual/project.yaml"}},
	{module: "github.com/argoproj/argo-rollouts", version: "v1.8.3", crds: []string{"manifests/crds/*.yaml"}, examples: []string{"examples/*.yaml"}},
	{module: "github.com/argoproj/argo-workflows/v3", version: "v3.7.0", crds: []string{"manifests/base/crds/full/*.yaml"}, examples: []string{"examples/workflow-template/*.yaml", "examples/cluster-workflow-template/*.yaml", "examples/*.yaml", "test/e2e/cron/[^c]*.yaml"}},
	{module: "knative.dev/serving", version: "v0.51.0", crds: []string{"config/core/300-resources/*.yaml"}, examples: []string{"test/test_images/*/*.yaml"}},
	{module: "knative.dev/eventing", version: "v0.45.0", crds: []string{"config/core/resources/*.yaml"}, examples: []string{"docs/sink/*.yaml"}},
	{module: "github.com/kyverno/kyverno", version: "v1.19.1", crds: []string{"config/crds/kyverno/*.yaml", "config/crds/policies.kyverno.io/*.yaml", "config/crds/policyreport/*.yaml"}, examples: []string{"test/best_practices/*.yaml", "test/more/*.yaml", "test/policy/validate/*.yaml"}},
	{module: "github.com/cilium/cilium", version: "v1.20.2", crds: []string{"pkg/k8s/apis/cilium.io/client/crds/v2*/*.yaml"}, examples: []string{"examples/policies/l3/entities/*.yaml", "examples/policies/l3/cidr/*.yaml", "examples/policies/l4/*.yaml", "examples/policies/host/*.yaml", "examples/policies/getting-started/*.yaml", "examples/kubernetes/servicemesh/envoy/*.yaml"}},
	{module: "github.com/open-policy-agent/gatekeeper/v3", version: "v3.23.1", crds: []string{"charts/gatekeeper/crds/*.yaml"}, examples: []string{"demo/basic/templates/*.yaml", "demo/agilebank/templates/*.yaml", "test/expansion/*.yaml"}},
	{module: "github.com/vmware-tanzu/velero", version: "v1.18.3", crds: []string{"config/crd/v*/bases/*.yaml"}, examples: []string{"tilt-resources/examples/*.yaml"}},
	{module: "github.com/kedacore/keda/v2", version: "v2.21.0", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"config/samples/*authentication.yaml", "config/samples/*object.yaml", "config/samples/*source.yaml"}},
	{module: "github.com/external-secrets/external-secrets", version: "v1.3.2", crds: []string{"config/crds/bases/*.yaml"}, examples: []string{"docs/snippets/aws-*.yaml", "docs/snippets/azkv-*.yaml"}},
	{module: "github.com/traefik/traefik/v3", version: "v3.7.13", crds: []string{"docs/content/reference/dynamic-configuration/traefik.io_*.yaml"}, examples: []string{"integration/fixtures/k8s/*.yml"}},
	{module: "sigs.k8s.io/kwok", version: "v0.8.0", crds: []string{"kustomize/crd/bases/*.yaml"}, examples: []string{"kustomize/stage/*/*/*.yaml", "kustomize/metrics/*/*.yaml", "demo/*.yaml"}},
	{module: "github.com/fluxcd/source-controller", version: "v1.7.0", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"config/samples/*.yaml"}},
	{module: "github.com/fluxcd/kustomize-controller", version: "v1.6.0", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"config/samples/*.yaml", "config/testdata/*/*.yaml"}},
	{module: "github.com/fluxcd/notification-controller", version: "v1.6.0", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"config/samples/*.yaml"}},
	{module: "github.com/grafana/grafana-operator/v5", version: "v5.18.0", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"config/samples/*grafana[acdfl]*.yaml"}},
	{module: "sigs.k8s.io/network-policy-api", version: "v0.1.1", crds: []string{"config/crd/*.yaml"}, examples: []string{"conformance/base/*/*.yaml"}},
	{module: "sigs.k8s.io/jobset", version: "v0.8.0", crds: []string{"config/components/crd/bases/*.yaml"}, examples: []string{"site/static/examples/simple/*.yaml", "site/static/examples/depends-on/*.yaml"}},
	{module: "github.com/tektoncd/pipeline", version: "v1.0.0", crds: []string{"config/300-crds/*.yaml"}, examples: []string{"examples/v1/taskruns/*.yaml"}},
	{module: "github.com/cloudnative-pg/cloudnative-pg", version: "v1.27.0", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"docs/src/samples/cluster-example-[c-z]*.yaml", "docs/src/samples/pooler*.yaml", "docs/src/samples/database*.yaml"}},
	{module: "go.universe.tf/metallb", version: "v0.15.2", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"configsamples/bgpadv*.yaml", "configsamples/ipaddresspool*.yaml", "configsamples/l2adv*.yaml", "configsamples/community*.yaml", "configsamples/bfd*.yaml"}},
	{module: "github.com/projectcontour/contour", version: "v1.32.0", crds: []string{"examples/contour/01-crds.yaml"}, examples: []string{"examples/example-workload/httpproxy/03-routes/httpproxy-[mstw]*.yaml", "examples/example-workload/httpproxy/04-inclusion/*.yaml", "site/content/examples/proxydemo/*.yaml"}},
	{module: "github.com/envoyproxy/gateway", version: "v1.5.0", crds: []string{"charts/gateway-helm/crds/generated/*.yaml"}, examples: []string{"examples/kubernetes/*.yaml", "examples/kubernetes/accesslog/*.yaml", "test/e2e/testdata/backend-*.yaml"}},
	{module: "github.com/open-telemetry/opentelemetry-operator", version: "v0.131.0", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"tests/e2e/args-collector/*.yaml", "tests/e2e-autoscale/autoscale/*.yaml"}},
	{module: "github.com/crossplane/crossplane/v2", version: "v2.0.2", crds: []string{"cluster/crds/*.yaml"}, examples: []string{"cluster/composition/*.yaml", "test/e2e/manifests/apiextensions/composition/validation/composition-valid.yaml", "test/e2e/manifests/apiextensions/mrd/validation/mrd-valid.yaml"}},
	{module: "sigs.k8s.io/cluster-api-provider-aws/v2", version: "v2.13.0", crds: []string{"config/crd/bases/*.yaml"}},
	{module: "sigs.k8s.io/cluster-api-provider-gcp", version: "v1.10.0", crds: []string{"config/crd/bases/*.yaml"}},
	{module: "github.com/chaos-mesh/chaos-mesh", version: "v0.9.1-0.20260902003049-47411975a8cb", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"examples/[a-q]*.yaml", "examples/workflow/*.yaml", "examples/jvm/*.yaml", "examples/physicalmachinechaos/*.yaml"}},
	{module: "github.com/elastic/cloud-on-k8s/v3", version: "v3.5.0", crds: []string{"config/crds/v1/resources/*.yaml"}, examples: []string{"config/samples/*/*.yaml"}},
	{module: "k8s.io/autoscaler/vertical-pod-autoscaler", version: "v1.8.1", crds: []string{"deploy/vpa-v1-crd-gen.yaml"}, few: true},
	{module: "github.com/dapr/dapr", version: "v1.14.0", crds: []string{"charts/dapr/crds/*.yaml"}, examples: []string{"tests/config/[b-z]*.yaml"}},
	{module: "github.com/kubernetes-sigs/kro", version: "v0.9.4", crds: []string{"helm/crds/*.yaml", "test/integration/crds/*/*.yaml"}, examples: []string{"examples/aws/ack-controller/controllers/*.yaml", "examples/aws/ack-controller/crds/*.yaml"}},
	{module: "github.com/fluxcd/flagger", version: "v1.36.1", crds: []string{"artifacts/flagger/crd.yaml"}, examples: []string{"artifacts/examples/*.yaml"}},
	{module: "github.com/tektoncd/triggers", version: "v0.31.0", crds: []string{"config/300-*.yaml"}, examples: []string{"examples/v1beta1/eventlisteners/*.yaml", "examples/v1alpha1/eventlisteners/*.yaml", "examples/v1beta1/*/*.yaml"}},
	{module: "github.com/hashicorp/vault-secrets-operator", version: "v0.10.0", crds: []string{"config/crd/bases/*.yaml"}, examples: []string{"config/samples/*vaultauth.yaml", "config/samples/*_vault[cps]*.yaml"}},
	{module: "github.com/operator-framework/api", version: "v0.33.0", crds: []string{"crds/*.yaml"}},
	{module: "github.com/argoproj/argo-events", version: "v1.9.6", crds: []string{"manifests/base/crds/*.yaml"}, examples: []string{"examples/event-sources/*.yaml", "examples/sensors/*.yaml", "examples/tutorials/*/*.yaml"}},
	{module: "github.com/cert-manager/approver-policy", version: "v0.19.0", crds: []string{"deploy/crds/*.yaml"}, examples: []string{"docs/examples/*.yaml"}, few: true},
	{module: "github.com/k8up-io/k8up/v2", version: "v2.12.0", crds: []string{"config/crd/apiextensions.k8s.io/v1/*.yaml"}, examples: []string{"config/samples/k8up_v1_[b-z]*.yaml"}},
}
