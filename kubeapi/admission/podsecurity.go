package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	admissionapi "k8s.io/pod-security-admission/admission/api"
	"k8s.io/pod-security-admission/admission/api/load"
	"k8s.io/pod-security-admission/admission/api/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

// podSecurity enforces the Pod Security Standards that the labels of a namespace require (KEP-2579). It warns
// about workloads whose pods would violate them, and about existing pods when labels change.
//
// Options: its configuration (pod-security.admission.config.k8s.io/v1, kind PodSecurityConfiguration) has the
// default levels, and the exempt users, namespaces and runtime classes. Metrics: pod_security_evaluations_total,
// pod_security_exemptions_total, pod_security_errors_total. Order: validating, so that it sees pods as they are
// stored.
type podSecurity struct {
	operations
	stores    *group.Stores
	evaluator func() (policy.Evaluator, error)
	defaults  api.Policy
	exempt    exemptions
	count     *metrics.PodSecurity
}

// exemptions are the exempt users, namespaces and runtime classes.
type exemptions struct{ users, namespaces, runtimeClasses sets.Set[string] }

func newPodSecurity(d *Dependencies, raw []byte) (admission.Interface, error) {
	c, err := load.LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	if errs := validation.ValidatePodSecurityConfiguration(c); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	defaults, err := admissionapi.ToPolicy(c.Defaults)
	if err != nil {
		return nil, err
	}
	return &podSecurity{
		operations: operations{admission.Create, admission.Update},
		stores:     d.Stores,
		evaluator: sync.OnceValues(func() (policy.Evaluator, error) {
			return policy.NewEvaluator(policy.DefaultChecks(), nil)
		}),
		defaults: defaults, count: d.PodSecurity,
		exempt: exemptions{
			users: sets.New(c.Exemptions.Usernames...), namespaces: sets.New(c.Exemptions.Namespaces...),
			runtimeClasses: sets.New(c.Exemptions.RuntimeClasses...),
		},
	}, nil
}

// Validate implements admission.ValidatingInterface.
func (s *podSecurity) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Subresource != "" && a.Subresource != "ephemeralcontainers" {
		return nil
	}
	if ns, ok := a.Object.(*corev1.Namespace); ok && a.Subresource == "" {
		return s.namespace(ctx, ns, a)
	}
	meta, spec, isPod := template(a.Object)
	if spec == nil || a.Namespace == "" {
		return nil
	}
	if by := s.exempt.by(a, spec); by != "" {
		request.Annotate(ctx, api.AuditAnnotationPrefix+api.ExemptionReasonAnnotationKey, by)
		s.count.Exempt(countedAs(a, isPod))
		return nil
	}
	ns, err := s.stores.Namespaces().GetShared(ctx, "", a.Namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.count.Failed(true, countedAs(a, isPod))
		return err
	}
	levels, _ := api.PolicyToEvaluate(ns.Labels, s.defaults)
	if levels.FullyPrivileged() {
		if isPod {
			levels.Enforce.Version = api.LatestVersion() // the privileged level allows everything in all versions
			auditEnforced(ctx, levels.Enforce)
			s.evaluated(a, isPod, levels.Enforce, "enforce", true)
		}
		return nil
	}
	if isPod {
		if !changes(a, spec) {
			return nil
		}
		auditEnforced(ctx, levels.Enforce)
	}
	return s.evaluate(ctx, a, levels, meta, spec, isPod)
}

// auditEnforced records the enforced level in the audit event.
func auditEnforced(ctx context.Context, enforced api.LevelVersion) {
	if rec := audit.RecordFrom(ctx); rec != nil {
		rec.Annotate(api.AuditAnnotationPrefix+api.EnforcedPolicyAnnotationKey, enforced.String())
	}
}

// by returns what exempts an operation, "" if nothing does.
func (e *exemptions) by(a *admission.Attributes, spec *corev1.PodSpec) string {
	switch {
	case e.namespaces.Has(a.Namespace):
		return "namespace"
	case a.User != nil && e.users.Has(a.User.Name):
		return "user"
	case spec.RuntimeClassName != nil && e.runtimeClasses.Has(*spec.RuntimeClassName):
		return "runtimeClass"
	}
	return ""
}

// changes reports whether an update can change the result.
func changes(a *admission.Attributes, spec *corev1.PodSpec) bool {
	old, ok := a.OldObject.(*corev1.Pod)
	return !ok || check.Differs(*spec, old.Spec)
}

func (s *podSecurity) evaluate(
	ctx context.Context, a *admission.Attributes, levels api.Policy, meta *metav1.ObjectMeta, spec *corev1.PodSpec,
	isPod bool,
) error {
	evaluator, err := s.evaluator()
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if levels.Audit.Level != api.LevelPrivileged && audit.RecordFrom(ctx) != nil {
		if r := policy.AggregateCheckResults(evaluator.EvaluatePod(levels.Audit, meta, spec)); !r.Allowed {
			s.evaluated(a, isPod, levels.Audit, "audit", false)
			request.Annotate(ctx, api.AuditAnnotationPrefix+api.AuditViolationsAnnotationKey,
				fmt.Sprintf("would violate PodSecurity %q: %s", levels.Audit.String(), r.ForbiddenDetail()))
		}
	}
	if isPod {
		r := policy.AggregateCheckResults(evaluator.EvaluatePod(levels.Enforce, meta, spec))
		s.evaluated(a, isPod, levels.Enforce, "enforce", r.Allowed)
		if !r.Allowed {
			return forbidden(a, "violates PodSecurity %q: %s", levels.Enforce.String(), r.ForbiddenDetail())
		}
	}
	if levels.Warn.Level == api.LevelPrivileged {
		return nil
	}
	if r := policy.AggregateCheckResults(evaluator.EvaluatePod(levels.Warn, meta, spec)); !r.Allowed {
		s.evaluated(a, isPod, levels.Warn, "warn", false)
		request.AddWarning(ctx, fmt.Sprintf("would violate PodSecurity %q: %s", levels.Warn.String(),
			r.ForbiddenDetail()))
	}
	return nil
}

// countedAs returns the metric labels of a request.
func countedAs(a *admission.Attributes, isPod bool) metrics.PodSecurityRequest {
	q := metrics.PodSecurityRequest{Operation: strings.ToLower(string(a.Operation)), Resource: "controller",
		Subresource: a.Subresource}
	if isPod {
		q.Resource = "pod"
	}
	return q
}

// evaluated counts an evaluation. Audit and warn count only violations.
func (s *podSecurity) evaluated(a *admission.Attributes, isPod bool, by api.LevelVersion, mode string, allowed bool) {
	s.count.Evaluated(allowed, string(by.Level), by.Version.String(), mode, countedAs(a, isPod))
}

// namespace validates the labels of a namespace, and warns about existing pods that violate a stricter level.
func (s *podSecurity) namespace(ctx context.Context, ns *corev1.Namespace, a *admission.Attributes) error {
	now, errs := api.PolicyToEvaluate(ns.Labels, s.defaults)
	old, ok := a.OldObject.(*corev1.Namespace)
	if a.Operation != admission.Update || !ok {
		return invalidLabels(ns, errs)
	}
	before, oldErrs := api.PolicyToEvaluate(old.Labels, s.defaults)
	if len(errs) > 0 && len(oldErrs) == 0 {
		return invalidLabels(ns, errs)
	}
	if stricter(now.Enforce, before.Enforce) && !s.exempt.namespaces.Has(ns.Name) {
		return s.warnOfPods(ctx, ns.Name, now.Enforce)
	}
	return nil
}

func invalidLabels(ns *corev1.Namespace, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind(), ns.Name, errs)
}

// stricter reports whether a level may reject what the previous one allowed.
func stricter(now, before api.LevelVersion) bool {
	if now == before || now.Level == api.LevelPrivileged {
		return false
	}
	return now.Version != before.Version || api.CompareLevels(now.Level, before.Level) > 0
}

// Bounds of the checks of existing pods for one request.
const (
	maxPodsChecked = 3000
	maxPodsTime    = time.Second
)

// warnOfPods warns about pods that violate a level, one line per violation.
func (s *podSecurity) warnOfPods(ctx context.Context, namespace string, level api.LevelVersion) error {
	evaluator, err := s.evaluator()
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	pods, err := s.stores.Pods().ListCached(request.SkippingUnreadable(ctx), namespace)
	if err != nil {
		request.AddWarning(ctx, "failed to list pods while checking new PodSecurity enforce level")
		return nil
	}
	until := time.Now().Add(maxPodsTime)
	faulty := map[string][]string{} // names of pods by their violations
	checked := 0
	for _, p := range pods {
		if checked == maxPodsChecked || time.Now().After(until) || ctx.Err() != nil {
			break
		}
		checked++
		if r := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &p.ObjectMeta, &p.Spec)); !r.Allowed {
			faulty[r.ForbiddenReason()] = append(faulty[r.ForbiddenReason()], p.Name)
		}
	}
	if checked < len(pods) {
		request.AddWarning(ctx,
			fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods", checked,
				len(pods)))
	}
	if len(faulty) == 0 {
		return nil
	}
	request.AddWarning(ctx, fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q",
		namespace, level.String()))
	for _, line := range faultLines(faulty) {
		request.AddWarning(ctx, line)
	}
	return nil
}

func faultLines(faulty map[string][]string) []string {
	lines := make([]string, 0, len(faulty))
	for fault, names := range faulty {
		first, others := slices.Min(names), ""
		switch n := len(names) - 1; n {
		case 0:
		case 1:
			others = " (and 1 other pod)"
		default:
			others = fmt.Sprintf(" (and %d other pods)", n)
		}
		lines = append(lines, first+others+": "+fault)
	}
	slices.Sort(lines)
	return lines
}

// template returns the pod, or the pod template, of an object.
func template(obj any) (*metav1.ObjectMeta, *corev1.PodSpec, bool) {
	of := func(t *corev1.PodTemplateSpec) (*metav1.ObjectMeta, *corev1.PodSpec, bool) {
		if t == nil {
			return nil, nil, false
		}
		return &t.ObjectMeta, &t.Spec, false
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		return &o.ObjectMeta, &o.Spec, true
	case *corev1.PodTemplate:
		return of(&o.Template)
	case *corev1.ReplicationController:
		return of(o.Spec.Template)
	case *appsv1.ReplicaSet:
		return of(&o.Spec.Template)
	case *appsv1.Deployment:
		return of(&o.Spec.Template)
	case *appsv1.DaemonSet:
		return of(&o.Spec.Template)
	case *appsv1.StatefulSet:
		return of(&o.Spec.Template)
	case *batchv1.Job:
		return of(&o.Spec.Template)
	case *batchv1.CronJob:
		return of(&o.Spec.JobTemplate.Spec.Template)
	}
	return nil, nil, false
}
