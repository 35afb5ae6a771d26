// Helm installs, upgrades, rolls back and uninstalls a chart, and leaves nothing behind.

package deploy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"triplane.dev/e2e/harness"
)

// TestHelmLeavesNothing installs a chart, upgrades it, rolls it back and uninstalls
// it; then the server has what it had before. It does so in a server and in a workspace.
func TestHelmLeavesNothing(t *testing.T) {
	s, _ := harness.StartControlled(t, "--workspaces")
	t.Run("server", func(t *testing.T) { helmLeavesNothing(t, s) })
	t.Run("workspace", func(t *testing.T) { helmLeavesNothing(t, s.Workspace(t, "team")) })
}

func helmLeavesNothing(t *testing.T, s *harness.Server) {
	t.Helper()
	inShop := func(args ...string) {
		t.Helper()
		if out, err := helm(t, s, nil, append(args, "--namespace", "shop", "--timeout", "60s")...); err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		harness.Eventually(t, func() error {
			_, err := s.TryKubectl(t, "", "-n", namespace, "get", "serviceaccount/default",
				"configmap/kube-root-ca.crt")
			return err
		})
	}
	before := everything(t, s)
	greeting := func(want string) {
		t.Helper()
		if got := s.Kubectl(t, "-n", "shop", "get", "deployment", "web", "-o",
			"jsonpath={.spec.template.metadata.annotations.greeting}"); got != want {
			t.Errorf("the greeting is %q, want %q", got, want)
		}
	}
	inShop("install", "web", "testdata/chart", "--create-namespace")
	greeting("hello")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/orders.shop.example.com", "--timeout=30s")
	s.KubectlIn(t, `{"apiVersion":"shop.example.com/v1","kind":"Order","metadata":{"name":"tea","namespace":"shop"},"spec":{"item":"tea"}}`, "create", "-f", "-")
	inShop("upgrade", "web", "testdata/chart", "--set", "greeting=welcome,extra=true")
	greeting("welcome")
	s.Kubectl(t, "-n", "shop", "get", "configmap", "web-extra")
	inShop("rollback", "web", "1")
	greeting("hello")
	if _, err := s.TryKubectl(t, "", "-n", "shop", "get", "configmap", "web-extra"); err == nil {
		t.Error("the rollback left what the upgrade had brought")
	}
	inShop("uninstall", "web")
	harness.Eventually(t, func() error {
		left := slices.DeleteFunc(everything(t, s), func(o string) bool {
			return slices.Contains(before, o) ||
				slices.Contains([]string{"namespace/shop", "shop/serviceaccount/default",
					"shop/configmap/kube-root-ca.crt"}, o)
		})
		if len(left) > 0 {
			return fmt.Errorf("the release left %v", left)
		}
		return nil
	})
	s.Kubectl(t, "delete", "namespace", "shop", "--timeout=60s")
	if after := everything(t, s); !slices.Equal(before, after) {
		t.Errorf("before: %v\nafter: %v", before, after)
	}
	if view := s.Kubectl(t, "get", "clusterrole", "view", "-o",
		"jsonpath={.rules[*].apiGroups}"); strings.Contains(view, "shop.example.com") {
		t.Errorf("the role view has rules of the release: %s", view)
	}
}

// everything lists the objects of a server, but events and leases, which come and go.
func everything(t *testing.T, s *harness.Server) []string {
	t.Helper()
	resources := slices.DeleteFunc(strings.Fields(s.Kubectl(t, "api-resources", "--verbs=list", "-o", "name",
		"--cached=false")), func(r string) bool {
		return strings.HasPrefix(r, "events") || strings.HasPrefix(r, "leases.") ||
			strings.HasPrefix(r, "componentstatuses")
	})
	out, err := s.TryKubectl(t, "", "get", strings.Join(resources, ","), "--all-namespaces", "--ignore-not-found",
		"-o", `go-template={{range .items}}{{with .metadata.namespace}}{{.}}/{{end}}{{.kind}}/{{.metadata.name}}{{"\n"}}{{end}}`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list := strings.Fields(strings.ToLower(out))
	slices.Sort(list)
	return list
}
