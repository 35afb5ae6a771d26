// Each metric of the alerts and of the dashboard is one that the server has.

package deploy

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/programs"
)

// checkMonitoring parses the expressions of alerts and dashboard, and asks for their metrics as
// Prometheus would: as the service account that may.
func checkMonitoring(t *testing.T, s *harness.Server) {
	t.Helper()
	var token string
	harness.Eventually(t, func() error {
		token = s.Kubectl(t, "get", "secret", "prometheus", "-n", "monitoring", "-o",
			"go-template={{.data.token | base64decode}}")
		if strings.Count(token, ".") != 2 {
			return fmt.Errorf("no token yet: %s", token)
		}
		return nil
	})
	config := restclient.AnonymousClientConfig(s.Config)
	config.BearerToken = token
	served, err := kubernetes.NewForConfigOrDie(config).RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	expressions := append(alertExpressions(t), dashboardExpressions(t)...)
	cmd := exec.CommandContext(t.Context(), harness.Tool(t, programs.Promql))
	cmd.Stdin = strings.NewReader(strings.Join(expressions, "\x00"))
	names, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, names)
	}
	for name := range strings.FieldsSeq(string(names)) {
		family := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			family = strings.TrimSuffix(family, suffix)
		}
		if name != "up" && !strings.Contains(string(served), "\n# TYPE "+family+" ") {
			t.Errorf("there is no metric %s", name)
		}
	}
}

func alertExpressions(t *testing.T) (found []string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(deployFile(t, "monitoring/rules.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
				t.Errorf("the rule %+v lacks something", rule)
			}
			found = append(found, rule.Expr)
		}
	}
	return found
}

func dashboardExpressions(t *testing.T) (found []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(deployFile(t, "monitoring/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	// Grafana fills in what its variables are.
	variables := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found = append(found, variables.Replace(target.Expr))
		}
	}
	if len(found) == 0 {
		t.Error("the dashboard shows nothing")
	}
	return found
}
