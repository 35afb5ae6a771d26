package options

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"triplane.dev/generic/base/metrics"
)

func TestAllowedMetricLabels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "labels.yaml")
	if err := os.WriteFile(file, []byte("allowListMapping:\n  \"m,verb\": \"get\"\n  \"n,code\": \"200,500\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	manifest := "--allow-metric-labels-manifest=" + file
	for _, tt := range []struct {
		args []string
		want metrics.AllowedLabels
		err  string
	}{
		{nil, metrics.AllowedLabels{}, ""},
		{[]string{"--allow-metric-labels=m,verb=get,list"}, metrics.AllowedLabels{"m": {"verb": {"get", "list"}}}, ""},
		{[]string{"--allow-metric-labels=m,verb=list", manifest}, metrics.AllowedLabels{"m": {"verb": {"list"}}, "n": {"code": {"200", "500"}}}, ""},
		{[]string{"--allow-metric-labels=m=list"}, nil, `--allow-metric-labels: "m" is not the name of a metric and of a label`},
		{[]string{"--allow-metric-labels-manifest=/absent"}, nil, "--allow-metric-labels-manifest: open /absent"},
	} {
		o, fs := NewFeatures(), pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(fs)
		if err := fs.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		got, err := o.allowedLabels()
		if tt.err != "" {
			if errs := o.Validate(); len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.err) {
				t.Errorf("%v: %v", tt.args, errs)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v: %v, %v", tt.args, got, err)
		}
	}
}
