package validation

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestTrust changes the certificates of conversion webhooks.
func TestTrust(t *testing.T) {
	crd := func(established bool, bundle string) *apiextensionsv1.CustomResourceDefinition {
		c := &apiextensionsv1.CustomResourceDefinition{}
		c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte(bundle)}},
		}
		if established {
			c.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
		}
		return c
	}
	for name, c := range map[string]struct {
		old     *apiextensionsv1.CustomResourceDefinition
		bundle  string
		refused bool
	}{
		"not served yet":      {crd(false, ""), "no", false},
		"served":              {crd(true, ""), "no", true},
		"served without":      {crd(true, "no"), "neither", false},
		"the system's stay":   {crd(true, ""), "", false},
		"the system's follow": {crd(true, "no"), "", false},
	} {
		if errs := validateTrust(crd(true, c.bundle), c.old); (len(errs) > 0) != c.refused {
			t.Errorf("%s: %v", name, errs)
		}
	}
}
