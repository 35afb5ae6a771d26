package audit

import (
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Policy defines how requests are recorded. The first rule that matches a request applies. Requests that no
// rule matches are not recorded.
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Rules []PolicyRule `json:"rules"`
	// OmitStages are stages at which no event is emitted, in addition to those of the rule.
	OmitStages []Stage `json:"omitStages,omitempty"`
	// OmitManagedFields omits managed fields from recorded objects, unless the rule sets the field itself.
	OmitManagedFields bool `json:"omitManagedFields,omitempty"`
}

// PolicyRule matches a request if each of its lists matches. An empty list matches everything.
type PolicyRule struct {
	Level      Level    `json:"level"`
	Users      []string `json:"users,omitempty"`
	UserGroups []string `json:"userGroups,omitempty"`
	Verbs      []string `json:"verbs,omitempty"`

	// Resources and Namespaces only match resource requests. The namespace "" matches cluster-scoped resources.
	Resources  []GroupResources `json:"resources,omitempty"`
	Namespaces []string         `json:"namespaces,omitempty"`
	// NonResourceURLs only match non-resource requests: "/path", "/prefix*" or "*".
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`

	OmitStages        []Stage `json:"omitStages,omitempty"`
	OmitManagedFields *bool   `json:"omitManagedFields,omitempty"`
}

const anyGroup = "*"

// GroupResources are resources of one group, or of all groups if Group is "*".
type GroupResources struct {
	Group string `json:"group,omitempty"`
	// Resources are "pods", "pods/log", "pods/*" (pods and all their subresources), "*/scale" or "*". Empty
	// means all resources of the group.
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

// ParsePolicy parses and validates a policy. Unknown and duplicate fields are errors.
func ParsePolicy(raw []byte) (*Policy, error) {
	doc, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return nil, fmt.Errorf("failed decoding: %w", err)
	}
	// The kind is checked first: errors about the fields of another kind would mislead.
	var kind metav1.TypeMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(doc, &kind); err != nil {
		return nil, fmt.Errorf("failed decoding: %w", err)
	}
	if kind.APIVersion != GroupVersion || kind.Kind != policyKind {
		return nil, fmt.Errorf("failed decoding: apiVersion %q, kind %q is not %s, %s", kind.APIVersion, kind.Kind,
			GroupVersion, policyKind)
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
