package audit

import (
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Policy says what is recorded of which requests: the first rule that matches a
// request decides, and what none matches is not recorded.
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Rules []PolicyRule `json:"rules"`
	// OmitStages are the stages without an event, whatever the rule.
	OmitStages []Stage `json:"omitStages,omitempty"`
	// OmitManagedFields leaves managed fields out of the recorded objects, where
	// the rule does not say otherwise.
	OmitManagedFields bool `json:"omitManagedFields,omitempty"`
}

// PolicyRule matches a request that each of its lists matches; an empty list
// matches everything.
type PolicyRule struct {
	Level      Level    `json:"level"`
	Users      []string `json:"users,omitempty"`
	UserGroups []string `json:"userGroups,omitempty"`
	Verbs      []string `json:"verbs,omitempty"`

	// Resources and Namespaces match only requests for resources; the namespace
	// "" is that of resources outside of namespaces.
	Resources  []GroupResources `json:"resources,omitempty"`
	Namespaces []string         `json:"namespaces,omitempty"`
	// NonResourceURLs match only other paths: each is a path, a prefix that ends
	// in "*", or "*".
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`

	OmitStages        []Stage `json:"omitStages,omitempty"`
	OmitManagedFields *bool   `json:"omitManagedFields,omitempty"`
}

const anyGroup = "*"

// GroupResources are resources of one group, or with the group "*" of all groups.
type GroupResources struct {
	Group string `json:"group,omitempty"`
	// Resources are "pods", "pods/log", "pods/*" (pods and all their
	// subresources), "*/scale" or "*"; none means all of the group.
	Resources     []string `json:"resources,omitempty"`
	ResourceNames []string `json:"resourceNames,omitempty"`
}

// LoadPolicy reads and validates the policy in a YAML or JSON file.
func LoadPolicy(path string) (*Policy, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("failed to read the audit policy: %w", err)
	}
	p, err := ParsePolicy(raw)
	if err != nil {
		return nil, fmt.Errorf("audit policy %s: %w", path, err)
	}
	return p, nil
}

// ParsePolicy reads and validates a policy. Unknown and duplicate fields are
// errors.
func ParsePolicy(raw []byte) (*Policy, error) {
	doc, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return nil, fmt.Errorf("failed decoding: %w", err)
	}
	// The kind first: fields of something else say nothing.
	var kind metav1.TypeMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(doc, &kind); err != nil {
		return nil, fmt.Errorf("failed decoding: %w", err)
	}
	if kind.APIVersion != GroupVersion || kind.Kind != policyKind {
		return nil, fmt.Errorf("failed decoding: apiVersion %q, kind %q is not %s, %s", kind.APIVersion, kind.Kind, GroupVersion, policyKind)
	}
	p := &Policy{}
	strict, err := kjson.UnmarshalStrict(doc, p)
	if err == nil {
		err = utilerrors.NewAggregate(strict)
	}
	if err != nil {
		return nil, fmt.Errorf("failed decoding: %w", err)
	}
	if err := p.validate().ToAggregate(); err != nil {
		return nil, err
	}
	if len(p.Rules) == 0 {
		return nil, fmt.Errorf("illegal policy with 0 rules")
	}
	return p, nil
}
