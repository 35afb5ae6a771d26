package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
)

const (
	maxConditions = 100
	maxRequesters = 100
	maxResponders = 11
	maxPriority   = 100000
	// maxReservedPriority is the highest priority of the responders of Kubernetes.
	maxReservedPriority = 999
	maxMessage          = 4000
)

// format is a format that markers of the Go types name.
type format[T any] func(context.Context, operation.Operation, *field.Path, *T, *T) field.ErrorList

// formatted requires a value of a format.
func formatted[T ~string](f format[T], value T, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return f(context.Background(), operation.Operation{}, path, &value, nil)
}

func ofKubernetes(domain string) bool {
	return domain == "k8s.io" || strings.HasSuffix(domain, ".k8s.io")
}

// anyName leaves the names of new objects to validateName: they have the format that the Go types give them.
func anyName(string, bool) []string { return nil }

func validateName(name string) field.ErrorList {
	return validate.LongName(context.Background(), operation.Operation{}, field.NewPath("metadata", "name"), &name, nil)
}

// validateTarget validates the union of targets, of which there is one.
func validateTarget(pod *lifecyclev1alpha1.EvictionPodReference, path *field.Path) field.ErrorList {
	if pod == nil {
		return field.ErrorList{field.Invalid(path, "", "must specify one of: `pod`")}
	}
	path = path.Child("pod")
	return append(formatted(validate.LongName[string], pod.Name, path.Child("name")),
		formatted(validate.UUID[string], string(pod.UID), path.Child("uid"))...)
}

// validateProgress validates what requests and evictions report alike.
func validateProgress(conditions []metav1.Condition, observed, before *int64) field.ErrorList {
	path := field.NewPath("status")
	errs := metavalidation.ValidateConditions(conditions, path.Child("conditions"))
	if n := len(conditions); n > maxConditions {
		errs = field.ErrorList{field.TooMany(path.Child("conditions"), n, maxConditions)}
	}
	seen := map[string]bool{}
	for i, c := range conditions {
		if seen[c.Type] {
			errs = append(errs, field.Duplicate(path.Child("conditions").Index(i), c.Type))
		}
		seen[c.Type] = true
	}
	generation := path.Child("observedGeneration")
	switch {
	case observed == nil && before != nil:
		errs = append(errs, field.Invalid(generation, nil, "field cannot be cleared once set"))
	case observed == nil:
	case *observed < 1:
		errs = append(errs, field.Invalid(generation, *observed, "must be greater than or equal to 1"))
	case before != nil && *observed < *before:
		errs = append(errs, field.Invalid(generation, *observed, fmt.Sprintf("may not be decreased from %d", *before)))
	}
	return errs
}

func validateEviction(e *lifecyclev1alpha1.Eviction) field.ErrorList {
	return append(validateName(e.Name), validateTarget(e.Spec.Target.Pod, field.NewPath("spec", "target"))...)
}

// validateEvictionStatus validates what the controller and the responders report.
func validateEvictionStatus(_ context.Context, e, stored *lifecyclev1alpha1.Eviction) field.ErrorList {
	s, old := &e.Status, &stored.Status
	path := field.NewPath("status")
	errs := append(validateTracked(s, path.Child("targetResponders")), validateKeys(s, old, path)...)
	errs = append(errs, validateProgress(s.Conditions, s.ObservedGeneration, old.ObservedGeneration)...)
	errs = append(errs, each(s.Requesters, maxRequesters, path.Child("requesters"),
		func(r *lifecyclev1alpha1.Requester) string { return r.Name },
		func(r *lifecyclev1alpha1.Requester, at *field.Path) field.ErrorList {
			return append(check.PrefixedKey(r.Name, at.Child("name")), validateIntent(r.Intent, at.Child("intent"))...)
		})...)
	errs = append(errs, each(s.TargetResponders, maxResponders, path.Child("targetResponders"), targetName,
		func(r *lifecyclev1alpha1.TargetResponder, at *field.Path) field.ErrorList {
			return validateTargetResponder(r, find(old.TargetResponders, targetName, r.Name), at)
		})...)
	return append(errs, each(s.Responders, maxResponders, path.Child("responders"), responderName,
		func(r *lifecyclev1alpha1.ResponderStatus, at *field.Path) field.ErrorList {
			return validateResponder(r, find(old.Responders, responderName, r.Name), at)
		})...)
}

func targetName(r *lifecyclev1alpha1.TargetResponder) string    { return r.Name }
func responderName(r *lifecyclev1alpha1.ResponderStatus) string { return r.Name }

// find returns the item of a name, nil if there is none.
func find[T any](list []T, name func(*T) string, wanted string) *T {
	for i := range list {
		if name(&list[i]) == wanted {
			return &list[i]
		}
	}
	return nil
}

// each validates the items of a list, which has each name once.
func each[T any](list []T, most int, path *field.Path, name func(*T) string,
	validate func(*T, *field.Path) field.ErrorList) field.ErrorList {
	if n := len(list); n > most {
		return field.ErrorList{field.TooMany(path, n, most)}
	}
	var errs, items field.ErrorList
	seen := map[string]bool{}
	for i := range list {
		if n := name(&list[i]); seen[n] {
			errs = append(errs, field.Duplicate(path.Index(i), list[i]))
		} else {
			seen[n] = true
		}
		items = append(items, validate(&list[i], path.Index(i))...)
	}
	return append(errs, items...)
}

// validateKeys requires that there is a status for each responder, and that the responders stay the same.
func validateKeys(s, old *lifecyclev1alpha1.EvictionStatus, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	targets, responders := path.Child("targetResponders"), path.Child("responders")
	if !sameNames(s.TargetResponders, old.TargetResponders, targetName, targetName) && len(old.TargetResponders) > 0 {
		errs = append(errs, field.Invalid(targets, s.TargetResponders, "must preserve the same length and the same keys"))
	}
	if !sameNames(s.Responders, s.TargetResponders, responderName, targetName) {
		errs = append(errs, field.Invalid(responders, s.Responders,
			"must be the same length as status.targetResponders and contain the same keys"))
	}
	return errs
}

func sameNames[A, B any](a []A, b []B, nameA func(*A) string, nameB func(*B) string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if find(b, nameB, nameA(&a[i])) == nil {
			return false
		}
	}
	return true
}

func validateTargetResponder(r, old *lifecyclev1alpha1.TargetResponder, path *field.Path) field.ErrorList {
	errs := check.PrefixedKey(r.Name, path.Child("name"))
	switch at := path.Child("priority"); {
	case r.Priority == nil:
		errs = append(errs, field.Required(at, ""))
	case *r.Priority < 0:
		errs = append(errs, field.Invalid(at, *r.Priority, "must be greater than or equal to 0"))
	case *r.Priority > maxPriority:
		errs = append(errs, field.Invalid(at, *r.Priority, fmt.Sprintf("must be less than or equal to %d", maxPriority)))
	case old != nil && check.Differs(r.Priority, old.Priority):
		errs = append(errs, field.Invalid(at, nil, "field cannot be modified once set"))
	}
	if r.State == "" {
		return append(errs, field.Required(path.Child("state"), ""))
	}
	return append(errs, check.OneOf(r.State, path.Child("state"), lifecyclev1alpha1.ResponderStateActive,
		lifecyclev1alpha1.ResponderStateCanceled, lifecyclev1alpha1.ResponderStateCompleted,
		lifecyclev1alpha1.ResponderStateInactive, lifecyclev1alpha1.ResponderStateInterrupted)...)
}

// validateTracked requires that all responders report in the status, have a priority that they may have, and say when
// they started if they are active.
func validateTracked(s *lifecyclev1alpha1.EvictionStatus, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range s.TargetResponders {
		r, at := &s.TargetResponders[i], path.Index(i)
		n := slices.IndexFunc(s.Responders, func(o lifecyclev1alpha1.ResponderStatus) bool { return o.Name == r.Name })
		if n < 0 {
			errs = append(errs, field.Invalid(at, r, fmt.Sprintf("%q has to be tracked in status.responders first", r.Name)))
			continue
		}
		domain, _, _ := strings.Cut(r.Name, "/")
		if p := ptr.Deref(r.Priority, -1); p >= 0 && p <= maxReservedPriority && !ofKubernetes(domain) {
			errs = append(errs, field.Invalid(at.Child("priority"), p,
				"priorities 0-999 are reserved for responders with *.k8s.io suffix"))
		}
		if r.State == lifecyclev1alpha1.ResponderStateActive && s.Responders[n].StartTime == nil {
			errs = append(errs, field.Required(field.NewPath("status", "responders").Index(n).Child("startTime"),
				"is required for an active responder"))
		}
	}
	return errs
}

func validateResponder(r, old *lifecyclev1alpha1.ResponderStatus, path *field.Path) field.ErrorList {
	errs := check.PrefixedKey(r.Name, path.Child("name"))
	if old != nil {
		errs = append(errs, onceSet(r.StartTime, old.StartTime, path.Child("startTime"))...)
		errs = append(errs, onceSet(r.CompletionTime, old.CompletionTime, path.Child("completionTime"))...)
		if r.HeartbeatTime == nil && old.HeartbeatTime != nil {
			errs = append(errs, field.Required(path.Child("heartbeatTime"), "is required once set"))
		}
	}
	if r.Message != nil && len([]rune(*r.Message)) > maxMessage {
		errs = append(errs, field.TooLongCharacters(path.Child("message"), "", maxMessage))
	}
	return errs
}

// onceSet keeps a time that was set.
func onceSet(now, before *metav1.Time, path *field.Path) field.ErrorList {
	switch {
	case before == nil || before.Equal(now):
		return nil
	case now == nil:
		return field.ErrorList{field.Invalid(path, nil, "field cannot be cleared once set")}
	}
	return field.ErrorList{field.Invalid(path, nil, "field cannot be modified once set")}
}
