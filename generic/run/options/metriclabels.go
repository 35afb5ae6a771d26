package options

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"triplane.dev/generic/base/metrics"
)

// allowedLabels parses --allow-metric-labels and the file of --allow-metric-labels-manifest. The flag takes
// precedence.
func (o *Features) allowedLabels() (metrics.AllowedLabels, error) {
	allowed := metrics.AllowedLabels{}
	if o.AllowedLabelsFile != "" {
		text, err := os.ReadFile(o.AllowedLabelsFile)
		if err != nil {
			return nil, fmt.Errorf("--allow-metric-labels-manifest: %w", err)
		}
		var manifest struct {
			AllowListMapping map[string]string `json:"allowListMapping"`
		}
		if err := yaml.UnmarshalStrict(text, &manifest); err != nil {
			return nil, fmt.Errorf("--allow-metric-labels-manifest: %s: %w", o.AllowedLabelsFile, err)
		}
		if err := allow(allowed, manifest.AllowListMapping); err != nil {
			return nil, fmt.Errorf("--allow-metric-labels-manifest: %s: %w", o.AllowedLabelsFile, err)
		}
	}
	if err := allow(allowed, o.AllowedLabels); err != nil {
		return nil, fmt.Errorf("--allow-metric-labels: %w", err)
	}
	return allowed, nil
}

// allow adds entries of the form "METRIC,LABEL": "VALUE,VALUE".
func allow(into metrics.AllowedLabels, mapping map[string]string) error {
	for key, values := range mapping {
		metric, label, ok := strings.Cut(strings.TrimSpace(key), ",")
		metric, label = strings.TrimSpace(metric), strings.TrimSpace(label)
		if !ok || metric == "" || label == "" || strings.Contains(label, ",") {
			return fmt.Errorf("%q is not the name of a metric and of a label: METRIC,LABEL=VALUE,VALUE", key)
		}
		if into[metric] == nil {
			into[metric] = map[string][]string{}
		}
		into[metric][label] = strings.Split(values, ",")
	}
	return nil
}

// Validate returns an error for each invalid value.
func (o *Features) Validate() []error {
	if _, err := o.allowedLabels(); err != nil {
		return []error{err}
	}
	return nil
}
