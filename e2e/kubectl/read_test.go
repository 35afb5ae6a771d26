// What kubectl reads of objects and of the API, and its commands that change single fields.

package kubectl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"triplane.dev/e2e/harness"
)

// contains says which of the texts is missing.
func contains(out string, texts ...string) error {
	for _, text := range texts {
		if !strings.Contains(out, text) {
			return errors.New("no " + text + " in:\n" + out)
		}
	}
	return nil
}

// TestKubectlReads looks at objects, and at the API itself, in the ways that
// kubectl has.
func TestKubectlReads(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml", "-f", "../testdata/widgets-crd.yaml")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=10s")
	for i := range 7 {
		s.Kubectl(t, "create", "cm", fmt.Sprintf("chunk-%d", i), "-n", "shop")
	}
	flow(t, s, "shop", []step{
		{args: words("get deploy web -o wide"), want: []string{"READY", "CONTAINERS", "IMAGES", "SELECTOR", "0/2"}},
		{args: words("get svc web -o wide"), want: []string{"CLUSTER-IP", "SELECTOR"}},
		{args: words("get all"), want: []string{"service/web", "deployment.apps/web"}},
		{args: words("get cm --chunk-size=3 -v=8 -l chunk!=x"),
			want: []string{"chunk-0", "chunk-6", "limit=3", "continue="}},
		{args: words("get cm -o custom-columns=N:.metadata.name,D:.data --sort-by=.metadata.name"), want: []string{"chunk-0", "<none>"}},
		{args: words("get cm --field-selector=metadata.name=chunk-2 --show-labels"), want: []string{"LABELS", "chunk-2"}, not: []string{"chunk-1"}},
		{args: words("get cm --field-selector=data=x"), fails: true, want: []string{`"data" is not a known field selector: only "metadata.name", "metadata.namespace"`}},
		{args: words("get cm --server-print=false"), want: []string{"chunk-0"}},
		{args: words("get cm,svc -o name"), want: []string{"configmap/chunk-0", "service/web"}},
		{args: words("get cm chunk-0 nothing"), fails: true,
			want: []string{"chunk-0", `configmaps "nothing" not found`}},
		{args: words("describe deploy web"), want: []string{"Replicas:", "2 desired", "StrategyType:"}},
		{args: words("describe svc web"), want: []string{"Selector:", "TargetPort:"}},
		{args: words("describe cm chunk-0"), want: []string{"Name:", "chunk-0"}},
		{args: words("events"), want: []string{"No events found"}},
		{args: words("rollout history deploy/web")},
		{args: words("auth can-i create pods"), want: []string{"yes"}},
		{args: words("auth can-i --list"), want: []string{"Resources", "Non-Resource URLs", "*.*", "[*]"}},
		{args: words("auth can-i --list --as=system:serviceaccount:shop:web"),
			want: []string{"selfsubjectreviews.authentication.k8s.io", "/healthz"}, not: []string{"*.*"}},
		{args: words("auth can-i delete pods --as=jane"), fails: true, want: []string{"no"}},
		{args: words("get pods --as=jane"), fails: true, want: []string{`User "jane" cannot list resource "pods" in API group "" in the namespace "shop"`}},
		{args: words("create role reader --verb=get,list --resource=pods,deployments.apps")},
		{args: words("create rolebinding reader --role=reader --user=jane")},
		{args: words("auth can-i list deployments.apps --as=jane"), want: []string{"yes"}},
		{args: words("auth can-i --list --as=jane"), want: []string{"deployments.apps", "[get list]"}},
		{args: words("create serviceaccount robot")},
		{args: words("create token robot --duration=20m"), want: []string{"ey"}},
	})
	flow(t, s, "", []step{
		{args: words("explain pods.spec.containers --recursive"), want: []string{"resizePolicy", "livenessProbe"}},
		{args: words("explain deployments --api-version=apps/v1"),
			want: []string{"GROUP:      apps", "KIND:       Deployment", "spec\t<DeploymentSpec>"}},
		{args: words("explain widgets"), want: []string{"GROUP:      example.com", "KIND:       Widget"}},
		{args: words("explain nothing"), fails: true, want: []string{"the server doesn't have a resource type"}},
		{args: words("explain pod.spec.nothing"), fails: true, want: []string{`field "nothing" does not exist`}},
		{args: words("api-resources --verbs=list --namespaced -o name"),
			want: []string{"configmaps\n", "deployments.apps\n", "widgets.example.com\n"}, not: []string{"nodes\n"}},
		{args: words("api-resources -o wide --namespaced=false"),
			want: []string{"SHORTNAMES", "namespaces", "create,delete,get,list,patch,update,watch"}},
		{args: words("api-versions"), want: []string{"v1\n", "apps/v1\n", "example.com/v1\n",
			"apiregistration.k8s.io/v1\n"}},
		{args: words("get --raw /api/v1/namespaces/shop/configmaps?limit=1"),
			want: []string{`"kind":"ConfigMapList"`, `"remainingItemCount":`, `"continue":`}},
		{args: words("get --raw /readyz?verbose"), want: []string{"[+]ping ok", "readyz check passed"}},
		{args: words("get --raw /version"), want: []string{`"major": "1"`}},
		{args: words("create --raw /api/v1/namespaces/shop/configmaps -f -"), stdin: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw"}}`, want: []string{`"name":"raw"`}},
		{args: words("get cm -A --chunk-size=2 -o name"), want: []string{"configmap/raw", "configmap/chunk-6"}},
		{args: words("cluster-info"), want: []string{"control plane", "is running at"}},
		{args: words("get componentstatuses"), want: []string{"etcd-0"}},
		{args: words("get nothing"), fails: true, want: []string{`the server doesn't have a resource type "nothing"`}},
	})
	first, _, _ := strings.Cut(s.Kubectl(t, "get", "flowschemas", "--no-headers"), " ")
	if first != "exempt" {
		t.Errorf("flow schemas are not shown by precedence: %q is the first", first)
	}
}

// TestKubectlChanges changes objects with kubectl's special commands.
func TestKubectlChanges(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "create", "serviceaccount", "default")
	flow(t, s, "default", []step{
		{args: words("create deployment web --image=web:1 --replicas=2 --port=80"), want: []string{"created"}},
		{args: words("create deployment web --image=web:1"), fails: true,
			want: []string{`deployments.apps "web" already exists`}},
		{args: words("label deploy/web tier=front")},
		{args: words("label deploy/web tier=back"), fails: true, want: []string{"--overwrite"}},
		{args: words("label deploy/web tier=back --overwrite"), want: []string{"labeled"}},
		{args: words("label deploy/web tier-"), want: []string{"unlabeled"}},
		{args: words("label deploy/web bad=-x"), fails: true, want: []string{"a valid label must be"}},
		{args: words("annotate deploy/web note=x --resource-version=1"), fails: true,
			want: []string{"the object has been modified"}},
		{args: words("annotate deploy/web note=x"), want: []string{"annotated"}},
		{args: words("annotate deploy/web note-"), want: []string{"annotated"}},
		{args: words("scale deploy/web --replicas=5 --current-replicas=3"), fails: true,
			want: []string{"Expected replicas to be 3, was 2"}},
		{args: words("scale deploy/web --replicas=5 --current-replicas=2"), want: []string{"scaled"}},
		{args: words("get deploy/web --subresource=scale -o jsonpath={.spec.replicas}"), want: []string{"5"}},
		{args: words(`patch deploy/web --subresource=scale --type=merge -p {"spec":{"replicas":6}}`), want: []string{"patched"}},
		{args: words("set image deploy/web web=web:2"), want: []string{"image updated"}},
		{args: words("set env deploy/web MODE=fast"), want: []string{"env updated"}},
		{args: words("set resources deploy/web --limits=cpu=1"), want: []string{"resource requirements updated"}},
		{args: words("rollout pause deploy/web"), want: []string{"paused"}},
		{args: words("rollout resume deploy/web"), want: []string{"resumed"}},
		{args: words("rollout restart deploy/web"), want: []string{"restarted"}},
		{args: words("get deploy web -o jsonpath={..image}/{..env[0].value}/{.spec.replicas}/{..limits.cpu}"), want: []string{"web:2/fast/6/1"}},
		{args: words(`patch deploy/web -p {"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}}`), want: []string{"patched"}},
		{args: words("get deploy web -o jsonpath={..image}"), want: []string{"s:1 web:2"}},
		{args: words(`patch deploy/web -p {"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}`), want: []string{"patched"}},
		{args: words(`patch deploy/web --type=json -p [{"op":"test","path":"/spec/replicas","value":7}]`), fails: true, want: []string{"The request is invalid"}},
		{args: words(`patch deploy/web --type=merge -p {"spec":{"replicas":"x"}}`), fails: true,
			want: []string{"spec.replicas"}},
		{args: words(`patch deploy/web -p {"spec":{"nothing":1}}`), want: []string{`unknown field "spec.nothing"`}},
		{args: words(`patch deploy/web --subresource=status --type=merge -p {"status":{"replicas":6,"readyReplicas":6}}`), want: []string{"patched"}},
		{args: words("get deploy web"), want: []string{"6/6"}},
		{args: words("expose deploy/web --port=80"), want: []string{"service/web exposed"}},
		{args: words("autoscale deploy/web --min=1 --max=3 --cpu=80%"), want: []string{"autoscaled"}},
		{args: words("create job one --image=i:1")},
		{args: words("create cronjob tick --image=i:1 --schedule=*/5|*|*|*|*"), fails: true,
			want: []string{"spec.schedule"}},
		{args: []string{"create", "cronjob", "tick", "--image=i:1", "--schedule=*/5 * * * *"},
			want: []string{"created"}},
		{args: words("create job two --from=cronjob/tick"), want: []string{"created"}},
		{args: words("create secret generic s --from-literal=a=b"), want: []string{"created"}},
		{args: words("create quota q --hard=pods=1"), want: []string{"created"}},
		{args: words(`patch quota q --subresource=status --type=merge -p {"status":{"hard":{"pods":"1"},"used":{"pods":"0"}}}`)},
		{args: words("run one --image=i:1 --labels=a=b"), want: []string{"pod/one created"}},
		{args: words("run two --image=i:1"), fails: true, want: []string{"exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"}},
		{args: words("exec one -- true"), fails: true, want: []string{"pod one does not have a host assigned"}},
		{args: words("logs one"), want: []string{""}},
		{args: words("debug one --image=d:1 --attach=false -c debugger"), want: []string{""}},
		{args: words("get pod one -o jsonpath={.spec.ephemeralContainers[*].name}"), want: []string{"debugger"}},
	})
	flow(t, s, "", []step{
		{args: words("create -f -"), stdin: "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n",
			want: []string{"node/n1 created"}},
		{args: words("taint node n1 a=b:NoSchedule"), want: []string{"tainted"}},
		{args: words("cordon n1"), want: []string{"cordoned"}},
		{args: words("get node n1"), want: []string{"SchedulingDisabled"}},
		{args: words("drain n1 --timeout=5s"), want: []string{"drained"}},
		{args: words("uncordon n1"), want: []string{"uncordoned"}},
		{args: words("auth reconcile -f -"), want: []string{"reconciled"},
			stdin: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: ['*'], resources: [pods], verbs: [get]}]\n"},
	})
}
