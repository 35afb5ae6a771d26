package validation

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/transport"

	"triplane.dev/generic/guard/webhook"
)

// recognizedBefore reports whether a changed CRD has to name a review version
// that the server knows: not where the old one did without.
func recognizedBefore(old *apiextensionsv1.CustomResourceDefinition) bool {
	if old == nil || old.Spec.Conversion == nil || old.Spec.Conversion.Webhook == nil {
		return true
	}
	versions := old.Spec.Conversion.Webhook.ConversionReviewVersions
	return len(versions) == 0 || recognizes(versions)
}

func recognizes(versions []string) bool {
	return sets.New(versions...).HasAny("v1", "v1beta1")
}

// ValidateCABundle returns what keeps the certificates from being used that a CRD
// trusts its conversion webhook by.
func ValidateCABundle(crd *apiextensionsv1.CustomResourceDefinition) *field.Error {
	c := crd.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter || c.Webhook == nil || c.Webhook.ClientConfig == nil ||
		len(c.Webhook.ClientConfig.CABundle) == 0 {
		return nil
	}
	bundle := c.Webhook.ClientConfig.CABundle
	if _, err := transport.TLSConfigFor(&transport.Config{TLS: transport.TLSConfig{CAData: bundle}}); err != nil {
		return field.Invalid(field.NewPath("spec", "conversion", "webhookClientConfig", "caBundle"), bundle, err.Error())
	}
	return nil
}

// validateTrust keeps a CRD that is served from losing its certificates. One that
// is not served yet may wait for them, and those that were there without may stay
// so.
func validateTrust(crd, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	if !IsTrue(old, apiextensionsv1.Established) || ValidateCABundle(old) != nil {
		return nil
	}
	if err := ValidateCABundle(crd); err != nil {
		return field.ErrorList{err}
	}
	return nil
}

func validateConversion(c *apiextensionsv1.CustomResourceConversion, mustRecognize bool,
	path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := enum(path.Child("strategy"), string(c.Strategy), string(apiextensionsv1.NoneConverter),
		string(apiextensionsv1.WebhookConverter))
	var client *apiextensionsv1.WebhookClientConfig
	var versions []string
	if c.Webhook != nil {
		client, versions = c.Webhook.ClientConfig, c.Webhook.ConversionReviewVersions
	}
	clientAt, versionsAt := path.Child("webhookClientConfig"), path.Child("conversionReviewVersions")
	if c.Strategy != apiextensionsv1.WebhookConverter {
		const not = "should not be set when strategy is not set to Webhook"
		if client != nil {
			errs = append(errs, field.Forbidden(clientAt, not))
		}
		if len(versions) > 0 {
			errs = append(errs, field.Forbidden(versionsAt, not))
		}
		return errs
	}
	if client == nil {
		errs = append(errs, field.Required(clientAt, "required when strategy is set to Webhook"))
	} else {
		errs = append(errs, validateClient(client, clientAt)...)
	}
	return append(errs, validateReviewVersions(versions, mustRecognize, versionsAt)...)
}

func validateReviewVersions(versions []string, mustRecognize bool, path *field.Path) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, v := range versions {
		if seen.Has(v) {
			errs = append(errs, field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		seen.Insert(v)
		for _, msg := range utilvalidation.IsDNS1035Label(v) {
			errs = append(errs, field.Invalid(path.Index(i), v, msg))
		}
	}
	if mustRecognize && !recognizes(versions) {
		errs = append(errs, field.Invalid(path, versions, "must include at least one of v1, v1beta1"))
	}
	return errs
}

func validateClient(c *apiextensionsv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return webhook.ValidateURL(*c.URL, path.Child("url"))
	}
	return validateService(c.Service, path.Child("service"))
}

func validateService(s *apiextensionsv1.ServiceReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	// kube-apiserver names the two fields crosswise.
	if s.Namespace == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	return append(errs, webhook.ValidateEndpoint(s.Port, s.Path, path)...)
}
