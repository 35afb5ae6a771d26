package abac

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"triplane/generic/base/authorizer"
	"triplane/generic/base/user"
)

const apiVersion = "abac.authorization.kubernetes.io/v1beta1"

// policy is a line of the file: who may do what.
type policy struct {
	User            string `json:"user,omitempty"`
	Group           string `json:"group,omitempty"`
	ReadOnly        bool   `json:"readonly,omitempty"`
	APIGroup        string `json:"apiGroup,omitempty"`
	Resource        string `json:"resource,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	NonResourcePath string `json:"nonResourcePath,omitempty"`
}

// Authorizer decides by policies.
type Authorizer []policy

// Read reads a policy file: a policy a line. Empty lines and those that begin with
// "#" are skipped. Errors name the line.
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

// parse reads a line in either form.
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
		return policy{}, fmt.Errorf("%s of %s is no Policy of %s", entry.Kind, entry.APIVersion, apiVersion)
	}
	return entry.Spec, nil
}

// parseUnversioned reads the form without a version: nobody named is everybody who
// is authenticated, no namespace and no resource are all of them, and a line with
// neither is for paths, too. It names no API groups, and means all.
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
	p := policy{User: old.User, Group: old.Group, ReadOnly: old.ReadOnly, APIGroup: "*", Resource: old.Resource, Namespace: old.Namespace}
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

// isFor reports whether the policy names the user or one of their groups; "*" is
// everybody who is authenticated, and what is named must all match.
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
func (p Authorizer) RulesFor(_ context.Context, u *user.Info, namespace string) (resource, nonResource []authorizer.Rule, incomplete bool, err error) {
	for i := range p {
		if !p[i].isFor(u) {
			continue
		}
		verbs := []string{"*"}
		if p[i].ReadOnly {
			verbs = []string{"get", "list", "watch"}
		}
		if p[i].Resource != "" && matches(p[i].Namespace, namespace) {
			resource = append(resource, authorizer.Rule{Verbs: verbs, APIGroups: []string{p[i].APIGroup}, Resources: []string{p[i].Resource}})
		}
		if p[i].NonResourcePath != "" {
			nonResource = append(nonResource, authorizer.Rule{Verbs: verbs, NonResourceURLs: []string{p[i].NonResourcePath}})
		}
	}
	return resource, nonResource, false, nil
}
