package apiextensions

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/serve/mux"
)

// What makes the server of CustomResourceDefinitions answer a path.
const (
	ruleCRD       mux.Rule = "CustomResourceDefinition"
	ruleDiscovery mux.Rule = "discovery" // the documents of a group and its versions
)

// Claims implements server.Claimant: the served versions of established CRDs.
func (h *crHandler) Claims() []mux.Claim {
	var claims []mux.Claim
	for res := range h.catalogue.all() {
		if !validation.IsTrue(res.crd, apiextensionsv1.Established) {
			continue
		}
		for i := range res.crd.Spec.Versions {
			if v := &res.crd.Spec.Versions[i]; v.Served {
				claims = append(claims, res.claim(v.Name))
			}
		}
	}
	return claims
}

// ClaimOf implements server.Claimant.
func (h *crHandler) ClaimOf(q mux.Inquiry) (mux.Claim, bool) {
	if !q.Info.IsResourceRequest {
		parts := strings.Split(strings.Trim(q.Info.Path, "/"), "/")
		known := (len(parts) == 2 || len(parts) == 3) && h.catalogue.group(parts[1]) != nil
		return mux.Claim{Path: strings.TrimSuffix(q.Info.Path, "/"), Rule: ruleDiscovery}, known
	}
	res := h.catalogue.find(schema.GroupResource{Group: q.Info.APIGroup, Resource: q.Info.Resource})
	if res == nil || !res.serves(q.Info) {
		return mux.Claim{}, false
	}
	return res.claim(q.Info.APIVersion), true
}

func (res *entry) claim(version string) mux.Claim {
	gr := res.groupResource()
	return mux.Claim{Path: "/apis/" + gr.Group + "/" + version + "/" + gr.Resource, Rule: ruleCRD, Object: res.crd.Name}
}
