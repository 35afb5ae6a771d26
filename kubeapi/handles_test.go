package kubeapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/group"
)

// Each handle has the resource and the Go type of a declared kind.
func TestHandlesFitTheirKinds(t *testing.T) {
	all := stored(t)
	found := []string{
		has(group.CSIDrivers(all)),
		has(group.CertificateSigningRequests(all)),
		has(group.ClusterRoleBindings(all)),
		has(group.ClusterRoles(all)),
		has(group.ConfigMaps(all)),
		has(group.Deployments(all)),
		has(group.EndpointSlices(all)),
		has(group.Endpoints(all)),
		has(group.Events(all)),
		has(group.FlowSchemas(all)),
		has(group.IPAddresses(all)),
		has(group.IngressClasses(all)),
		has(group.Jobs(all)),
		has(group.Leases(all)),
		has(group.LimitRanges(all)),
		has(group.MutatingAdmissionPolicies(all)),
		has(group.Namespaces(all)),
		has(group.Nodes(all)),
		has(group.PersistentVolumeClaims(all)),
		has(group.PersistentVolumes(all)),
		has(group.PodDisruptionBudgets(all)),
		has(group.Pods(all)),
		has(group.PriorityClasses(all)),
		has(group.PriorityLevelConfigurations(all)),
		has(group.ReplicaSets(all)),
		has(group.ResourceQuotas(all)),
		has(group.RoleBindings(all)),
		has(group.Roles(all)),
		has(group.RuntimeClasses(all)),
		has(group.Secrets(all)),
		has(group.ServiceAccounts(all)),
		has(group.ServiceCIDRs(all)),
		has(group.Services(all)),
		has(group.StatefulSets(all)),
		has(group.StorageClasses(all)),
		has(group.StorageVersionMigrations(all)),
		has(group.ValidatingAdmissionPolicies(all)),
	}
	file, err := parser.ParseFile(token.NewFileSet(), "group/resources.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	functions := 0
	for _, d := range file.Decls {
		if _, ok := d.(*ast.FuncDecl); ok {
			functions++
		}
	}
	if functions != len(found) {
		t.Errorf("%d handles are tested, there are %d", len(found), functions)
	}
	for _, missing := range found {
		if missing != "" {
			t.Error(missing)
		}
	}
}

// has returns "" if the server has a resource of a handle with its Go type. It does not use StoreOf, which would compile
// a registry.Store for each type.
func has[T kind.Object](h group.Handle[T]) string {
	if verbs := h.Verbs(); verbs != nil && verbs.New != nil && verbs.Get != nil {
		if _, ok := verbs.New().(T); ok {
			return ""
		}
	}
	return "no kind of " + h.Resource().String() + " is stored with this Go type"
}
