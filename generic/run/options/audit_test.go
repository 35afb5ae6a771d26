package options

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/serve/server"
)

func auditFlags(t *testing.T, args ...string) *Audit {
	t.Helper()
	o := NewAudit()
	fs := pflag.NewFlagSet("t", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAuditDefaults(t *testing.T) {
	fs := pflag.NewFlagSet("t", pflag.ContinueOnError)
	NewAudit().AddFlags(fs)
	for name, want := range map[string]string{
		"audit-log-batch-buffer-size": "10000", "audit-log-batch-max-size": "1", "audit-log-batch-max-wait": "0s", "audit-log-batch-throttle-burst": "0",
		"audit-log-batch-throttle-enable": "false", "audit-log-batch-throttle-qps": "0", "audit-log-compress": "false", "audit-log-format": "json",
		"audit-log-maxage": "366", "audit-log-maxbackup": "100", "audit-log-maxsize": "100", "audit-log-mode": "blocking", "audit-log-path": "",
		"audit-log-truncate-enabled": "false", "audit-log-truncate-max-batch-size": "10485760", "audit-log-truncate-max-event-size": "102400",
		"audit-log-version": "audit.k8s.io/v1", "audit-policy-file": "",
		"audit-webhook-batch-buffer-size": "10000", "audit-webhook-batch-max-size": "400", "audit-webhook-batch-max-wait": "30s",
		"audit-webhook-batch-throttle-burst": "15", "audit-webhook-batch-throttle-enable": "true", "audit-webhook-batch-throttle-qps": "10",
		"audit-webhook-config-file": "", "audit-webhook-initial-backoff": "10s", "audit-webhook-mode": "batch", "audit-webhook-truncate-enabled": "false",
		"audit-webhook-truncate-max-batch-size": "10485760", "audit-webhook-truncate-max-event-size": "102400", "audit-webhook-version": "audit.k8s.io/v1",
	} {
		if f := fs.Lookup(name); f == nil || f.DefValue != want {
			t.Errorf("--%s: %+v, want %s", name, f, want)
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if !strings.HasPrefix(f.Name, "audit-") {
			t.Errorf("--%s", f.Name)
		}
	})
}

func TestAuditValidation(t *testing.T) {
	for args, want := range map[string]string{
		"":                                      "",
		"--audit-log-mode=x":                    "", // of a backend that is not used
		"--audit-log-path=-":                    "",
		"--audit-log-path=- --audit-log-mode=x": `invalid audit log mode x, allowed modes are "batch,blocking,blocking-strict"`,
		"--audit-log-path=- --audit-log-maxage=-1":                                                                 "--audit-log-maxage -1 can't be a negative number",
		"--audit-log-path=- --audit-log-format=x":                                                                  `invalid audit log format x, allowed formats are "legacy,json"`,
		"--audit-log-path=- --audit-log-version=v":                                                                 "invalid group version",
		"--audit-log-path=- --audit-log-mode=batch --audit-log-batch-buffer-size=0":                                "invalid audit batch log buffer size 0, must be a positive number",
		"--audit-log-path=- --audit-log-mode=batch --audit-log-batch-max-size=0":                                   "invalid audit batch log max batch size 0",
		"--audit-log-path=- --audit-log-mode=batch --audit-log-batch-throttle-enable":                              "invalid audit batch log throttle QPS 0",
		"--audit-webhook-config-file=x --audit-webhook-batch-throttle-burst=0":                                     "invalid audit batch webhook throttle burst 0",
		"--audit-webhook-config-file=x --audit-webhook-truncate-enabled --audit-webhook-truncate-max-event-size=0": "invalid audit truncate webhook max event size 0",
		"--audit-webhook-config-file=x --audit-webhook-truncate-enabled --audit-webhook-truncate-max-batch-size=9": "must be greater than max event size (102400)",
	} {
		err := errors.Join(auditFlags(t, strings.Fields(args)...).Validate()...)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestAuditApply(t *testing.T) {
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, on := range map[string]bool{
		"":                              false,
		"--audit-log-path=" + log:       false,
		"--audit-policy-file=" + policy: false,
		"--audit-policy-file=" + policy + " --audit-log-path=" + log:                                                true,
		"--audit-policy-file=" + policy + " --audit-log-path=- --audit-log-mode=batch --audit-log-truncate-enabled": true,
	} {
		auditor, err := auditFlags(t, strings.Fields(args)...).Build(audit.NewMetrics(server.NewConfig().Metrics), nil)
		if err != nil || (auditor != nil) != on {
			t.Errorf("%s: %v, %v", args, err, auditor)
		}
		if auditor != nil {
			auditor.Close(t.Context())
		}
	}
	for _, args := range []string{
		"--audit-policy-file=" + log + ".none",
		"--audit-policy-file=" + policy + " --audit-log-path=" + dir,
		"--audit-policy-file=" + policy + " --audit-webhook-config-file=" + dir + "/none",
	} {
		if _, err := auditFlags(t, strings.Fields(args)...).Build(audit.NewMetrics(server.NewConfig().Metrics), nil); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
