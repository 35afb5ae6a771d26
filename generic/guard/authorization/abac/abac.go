package abac

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

const apiVersion = "abac.authorization.kubernetes.io/v1beta1"

// policy is one line of the policy file.
type policy struct {
	User            string `json:"user,omitempty"`
	Group           string `json:"group,omitempty"`
	ReadOnly        bool   `json:"readonly,omitempty"`
	APIGroup        string `json:"apiGroup,omitempty"`
	Resource        string `json:"resource,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	NonResourcePath string `json:"nonResourcePath,omitempty"`
}

// Authorizer authorizes requests with the policies of a file.
type Authorizer []policy

// Read reads a policy file with one policy per line. It skips empty lines and lines that begin with "#". Errors
// contain the line number.
func Read(file string) (Authorizer, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var policies Authorizer
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw)+1)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		p, err := parse([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, number, err)
		}
		policies = append(policies, p)
	}
	return policies, lines.Err()
}

// parse decodes a line with or without a version.
func parse(line []byte) (policy, error) {
	var entry struct {
		Kind       string `json:"kind"`
		APIVersion string `json:"apiVersion"`
		Spec       policy `json:"spec"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return policy{}, err
	}
	if entry.Kind == "" && entry.APIVersion == "" {
		return parseUnversioned(line)
	}
	if entry.Kind != "Policy" || entry.APIVersion != apiVersion {
		return policy{}, fmt.Errorf("%s of %s is not a Policy of %s", entry.Kind, entry.APIVersion, apiVersion)
	}
	return entry.Spec, nil
}

// parseUnversioned decodes a line without a version. Without user and group it applies to all authenticated
// users. Without namespace or resource it applies to all of them; without both, also to non-resource paths. It
// applies to all API groups.
func parseUnversioned(line []byte) (policy, error) {
	var old struct {
		User      string `json:"user"`
		Group     string `json:"group"`
		ReadOnly  bool   `json:"readonly"`
		Resource  string `json:"resource"`
		Namespace string `json:"namespace"`
	}
	if err := json.Unmarshal(line, &old); err != nil {
		return policy{}, err
	}
	p := policy{User: old.User, Group: old.Group, ReadOnly: old.ReadOnly, APIGroup: "*", Resource: old.Resource,
		Namespace: old.Namespace}
	if p.User == "" && p.Group == "" {
		p.Group = user.AllAuthenticated
	}
	if p.Resource == "" && p.Namespace == "" {
		p.NonResourcePath = "*"
	}
	if p.Resource == "" {
		p.Resource = "*"
	}
	if p.Namespace == "" {
		p.Namespace = "*"
	}
	return p, nil
}

// Authorize implements authorizer.Authorizer.
func (p Authorizer) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	for i := range p {
		if p[i].isFor(a.User) && p[i].allows(a) {
			return authorizer.Allow, "", nil
		}
	}
	return authorizer.NoOpinion, "No policy matched.", nil
}

// isFor reports whether the policy applies to a user. Both user and group must match if they are set; "*"
// matches all authenticated users.
// authenticated users.
func (p *policy) isFor(u *user.Info) bool {
	if u == nil || (p.User == "" && p.Group == "") {
		return false
	}
	if p.User == "*" || p.Group == "*" {
		if !u.InGroup(user.AllAuthenticated) {
			return false
		}
	}
	if p.User != "" && p.User != "*" && p.User != u.Name {
		return false
	}
	return p.Group == "" || p.Group == "*" || u.InGroup(p.Group)
}

func (p *policy) allows(a *authorizer.Attributes) bool {
	if p.ReadOnly && !a.IsReadOnly() {
		return false
	}
	if a.ResourceRequest {
		return matches(p.Namespace, a.Namespace) && matches(p.Resource, a.Resource) && matches(p.APIGroup, a.APIGroup)
	}
	return p.NonResourcePath != "" && authorizer.PathMatches(p.NonResourcePath, a.Path)
}

func matches(pattern, value string) bool { return pattern == "*" || pattern == value }

// RulesFor implements authorizer.RuleResolver.
func (p Authorizer) RulesFor(_ context.Context, u *user.Info, namespace string) (resource,
	nonResource []authorizer.Rule, incomplete bool, err error) {
	for i := range p {
		if !p[i].isFor(u) {
			continue
		}
		verbs := []string{"*"}
		if p[i].ReadOnly {
			verbs = []string{"get", "list", "watch"}
		}
		if p[i].Resource != "" && matches(p[i].Namespace, namespace) {
			resource = append(resource, authorizer.Rule{Verbs: verbs, APIGroups: []string{p[i].APIGroup},
				Resources: []string{p[i].Resource}})
		}
		if p[i].NonResourcePath != "" {
			nonResource = append(nonResource, authorizer.Rule{Verbs: verbs, NonResourceURLs: []string{p[i].NonResourcePath}})
		}
	}
	return resource, nonResource, false, nil
}
