package aggregator

import (
	"context"
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

// apiServiceKind declares apiregistration.k8s.io/v1 APIService.
func apiServiceKind() *kind.Kind[*apiregistrationv1.APIService] {
	type apiService = *apiregistrationv1.APIService
	return &kind.Kind[apiService]{
		Prefix:         apiregistrationv1.GroupName + "/apiservices",
		Representation: kind.Typed[apiService]{JSON: true, AnyFinalizer: true, ValidateFirst: validateNames},
		Names:          kind.Names{Categories: []string{"api-extensions"}},
		Write: kind.Write[apiService]{
			Default:      defaultAPIService,
			ValidateName: func(string, bool) []string { return nil }, // validateNames validates it
			Prepare:      kind.AtCreation(prepareAPIService),
			Validate:     kind.Whole(validateSpec),
		},
		Columns: show.Columns(
			show.Cell("Service", "The reference to the service that hosts this API endpoint.", serviceCell),
			show.Cell("Available", "Whether this service is available.", availableCell)),
		Status: &kind.Subresource[apiService]{
			Preserves: []string{"metadata.labels", "metadata.annotations", "metadata.finalizers",
				"metadata.ownerReferences"},
			Validate: kind.Whole(validateStatus),
			Resets:   []string{"metadata"},
			NoTable:  true,
		},
	}
}

func prepareAPIService(_ context.Context, s *apiregistrationv1.APIService) {
	if s.Spec.Service == nil {
		setAvailable(s, localCondition())
	}
}

func defaultAPIService(s *apiregistrationv1.APIService) {
	if s.Spec.Service != nil && s.Spec.Service.Port == nil {
		s.Spec.Service.Port = ptr.To[int32](443)
	}
}

func validateNames(s *apiregistrationv1.APIService) field.ErrorList {
	meta := field.NewPath("metadata")
	return append(validateName(meta.Child("generateName"), s.GenerateName, s),
		validateName(meta.Child("name"), s.Name, s)...)
}

func validateSpec(s *apiregistrationv1.APIService) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	switch {
	case s.Spec.Group != "":
		errs = append(errs, invalidAll(spec.Child("group"), s.Spec.Group,
			utilvalidation.IsDNS1123Subdomain(s.Spec.Group))...)
	case s.Spec.Version != "v1":
		errs = append(errs, field.Required(spec.Child("group"),
			"only v1 may have an empty group and it better be legacy kube"))
	}
	errs = append(errs, invalidAll(spec.Child("version"), s.Spec.Version,
		utilvalidation.IsDNS1035Label(s.Spec.Version))...)
	if p := s.Spec.GroupPriorityMinimum; p <= 0 || p > 20000 {
		errs = append(errs, field.Invalid(spec.Child("groupPriorityMinimum"), p,
			"must be positive and less than 20000"))
	}
	if p := s.Spec.VersionPriority; p <= 0 || p > 1000 {
		errs = append(errs, field.Invalid(spec.Child("versionPriority"), p, "must be positive and less than 1000"))
	}
	if s.Spec.Service == nil {
		return append(errs, validateLocal(s, spec)...)
	}
	return append(errs, validateRemote(s, spec)...)
}

// validateName validates a name, or a generateName; a missing name is reported elsewhere.
func validateName(path *field.Path, name string, s *apiregistrationv1.APIService) field.ErrorList {
	if name == "" {
		return nil
	}
	if messages := pathvalidation.IsValidPathSegmentName(name); len(messages) > 0 {
		return invalidAll(path, name, messages)
	}
	if want := apiServiceName(groupVersion(s)); name != want {
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q",
			want))}
	}
	return nil
}

func validateLocal(s *apiregistrationv1.APIService, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n := len(s.Spec.CABundle); n > 0 {
		errs = append(errs, field.Invalid(spec.Child("caBundle"), fmt.Sprintf("%d bytes", n),
			"local APIServices may not have a caBundle"))
	}
	if s.Spec.InsecureSkipTLSVerify {
		errs = append(errs, field.Invalid(spec.Child("insecureSkipTLSVerify"), true,
			"local APIServices may not have insecureSkipTLSVerify"))
	}
	return errs
}

func validateRemote(s *apiregistrationv1.APIService, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	service := spec.Child("service")
	if s.Spec.Service.Namespace == "" {
		errs = append(errs, field.Required(service.Child("namespace"), ""))
	}
	if s.Spec.Service.Name == "" {
		errs = append(errs, field.Required(service.Child("name"), ""))
	}
	if p := ptr.Deref(s.Spec.Service.Port, 443); len(utilvalidation.IsValidPortNum(int(p))) > 0 {
		errs = append(errs, field.Invalid(service.Child("port"), p,
			"port is not valid: "+strings.Join(utilvalidation.IsValidPortNum(int(p)), ", ")))
	}
	if s.Spec.InsecureSkipTLSVerify && len(s.Spec.CABundle) > 0 {
		errs = append(errs, field.Invalid(spec.Child("insecureSkipTLSVerify"), true,
			"may not be true if caBundle is present"))
	}
	return errs
}

func validateStatus(s *apiregistrationv1.APIService) field.ErrorList {
	var errs field.ErrorList
	known := []string{string(apiregistrationv1.ConditionTrue), string(apiregistrationv1.ConditionFalse),
		string(apiregistrationv1.ConditionUnknown)}
	for i, c := range s.Status.Conditions {
		switch c.Status {
		case apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown:
		default:
			errs = append(errs, field.NotSupported(field.NewPath("status", "conditions").Index(i).Child("status"),
				string(c.Status), known))
		}
	}
	return errs
}

func invalidAll(path *field.Path, value string, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, m := range messages {
		errs = append(errs, field.Invalid(path, value, m))
	}
	return errs
}

func localCondition() apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue,
		Reason: "Local", Message: "Local APIServices are always available",
	}
}

// setAvailable sets the Available condition. It keeps the transition time if the status does not change. It
// reports whether the condition changed.
func setAvailable(s *apiregistrationv1.APIService, c apiregistrationv1.APIServiceCondition) bool {
	c.LastTransitionTime = metav1.Now()
	for i := range s.Status.Conditions {
		have := &s.Status.Conditions[i]
		if have.Type != c.Type {
			continue
		}
		if have.Status == c.Status {
			c.LastTransitionTime = have.LastTransitionTime
		}
		if apiequality.Semantic.DeepEqual(*have, c) {
			return false
		}
		*have = c
		return true
	}
	s.Status.Conditions = append(s.Status.Conditions, c)
	return true
}

// isAvailable reports whether the Available condition is true.
func isAvailable(s *apiregistrationv1.APIService) bool {
	c := available(s)
	return c != nil && c.Status == apiregistrationv1.ConditionTrue
}

// available returns the Available condition, nil if there is none.
func available(s *apiregistrationv1.APIService) *apiregistrationv1.APIServiceCondition {
	for i := range s.Status.Conditions {
		if s.Status.Conditions[i].Type == apiregistrationv1.Available {
			return &s.Status.Conditions[i]
		}
	}
	return nil
}

// port returns the port of a remote APIService's Service.
func port(s *apiregistrationv1.APIService) int32 { return ptr.Deref(s.Spec.Service.Port, 443) }

func serviceCell(s *apiregistrationv1.APIService) string {
	if s.Spec.Service == nil {
		return "Local"
	}
	return s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
}

func availableCell(s *apiregistrationv1.APIService) string {
	for _, c := range s.Status.Conditions {
		if c.Type != apiregistrationv1.Available {
			continue
		}
		if c.Status == apiregistrationv1.ConditionTrue {
			return string(c.Status)
		}
		return fmt.Sprintf("%s (%s)", c.Status, c.Reason)
	}
	return string(apiregistrationv1.ConditionUnknown)
}

// groupVersion returns the group version of an APIService.
func groupVersion(s *apiregistrationv1.APIService) schema.GroupVersion {
	return schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}
}
