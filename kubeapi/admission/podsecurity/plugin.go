package podsecurity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	"triplane.dev/kubeapi/group"
)

// Plugin enforces the Pod Security Standards that the labels of a namespace require (KEP-2579). It warns
// about workloads whose pods would violate them, and about existing pods when labels change.
//
// Options: its configuration (pod-security.admission.config.k8s.io/v1, kind PodSecurityConfiguration) has the
// default levels, and the exempt users, namespaces and runtime classes. Metrics: pod_security_evaluations_total,
// pod_security_exemptions_total, pod_security_errors_total. Order: validating, so that it sees pods as they are
// stored.
type Plugin struct {
	stores    *group.Stores
	evaluator func() (policy.Evaluator, error)
	defaults  api.Policy
	exempt    exemptions
	count     *pluginMetrics
}

// exemptions are the exempt users, namespaces and runtime classes.
type exemptions struct{ users, namespaces, runtimeClasses sets.Set[string] }

// New returns the plugin for its configuration, which may be nil, and registers its metrics.
func New(stores *group.Stores, r *metrics.Registry, raw []byte) (*Plugin, error) {
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
	return &Plugin{
		stores: stores,
		evaluator: sync.OnceValues(func() (policy.Evaluator, error) {
			return policy.NewEvaluator(policy.DefaultChecks(), nil)
		}),
		defaults: defaults, count: newMetrics(r),
		exempt: exemptions{
			users: sets.New(c.Exemptions.Usernames...), namespaces: sets.New(c.Exemptions.Namespaces...),
			runtimeClasses: sets.New(c.Exemptions.RuntimeClasses...),
		},
	}, nil
}

// Handles implements admission.Interface.
func (s *Plugin) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidatingInterface.
func (s *Plugin) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Subresource != "" && a.Subresource != "ephemeralcontainers" {
		return nil
	}
	if ns, ok := a.Object.(*corev1.Namespace); ok && a.Subresource == "" {
		return s.namespace(ctx, ns, a)
	}
	w := workloadOf(a)
	if w == nil || a.Namespace == "" {
		return nil
	}
	if by := s.exempt.by(w); by != "" {
		request.Annotate(ctx, api.AuditAnnotationPrefix+api.ExemptionReasonAnnotationKey, by)
		s.count.exempt(w)
		return nil
	}
	ns, err := group.Namespaces(s.stores).GetShared(ctx, "", a.Namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.count.failed(w)
		return err
	}
	levels, _ := api.PolicyToEvaluate(ns.Labels, s.defaults)
	if levels.FullyPrivileged() {
		if w.isPod {
			levels.Enforce.Version = api.LatestVersion() // the privileged level allows everything in all versions
			auditEnforced(ctx, levels.Enforce)
			s.count.evaluated(w, levels.Enforce, "enforce", true)
		}
		return nil
	}
	if w.isPod {
		if !w.changes() {
			return nil
		}
		auditEnforced(ctx, levels.Enforce)
	}
	return s.evaluate(ctx, w, levels)
}

// auditEnforced records the enforced level in the audit event.
func auditEnforced(ctx context.Context, enforced api.LevelVersion) {
	if rec := audit.RecordFrom(ctx); rec != nil {
		rec.Annotate(api.AuditAnnotationPrefix+api.EnforcedPolicyAnnotationKey, enforced.String())
	}
}

// by returns what exempts an operation, "" if nothing does.
func (e *exemptions) by(w *workload) string {
	switch {
	case e.namespaces.Has(w.Namespace):
		return "namespace"
	case w.User != nil && e.users.Has(w.User.Name):
		return "user"
	case e.runs(w.spec):
		return "runtimeClass"
	}
	return ""
}

// runs reports whether the runtime class of pods exempts them.
func (e *exemptions) runs(s *corev1.PodSpec) bool {
	return s.RuntimeClassName != nil && e.runtimeClasses.Has(*s.RuntimeClassName)
}

// evaluate compares a workload with the levels of its namespace. Only pods are denied.
func (s *Plugin) evaluate(ctx context.Context, w *workload, levels api.Policy) error {
	evaluator, err := s.evaluator()
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if levels.Audit.Level != api.LevelPrivileged && audit.RecordFrom(ctx) != nil {
		if r := w.compare(evaluator, levels.Audit); !r.Allowed {
			s.count.evaluated(w, levels.Audit, "audit", false)
			request.Annotate(ctx, api.AuditAnnotationPrefix+api.AuditViolationsAnnotationKey,
				fmt.Sprintf("would violate PodSecurity %q: %s", levels.Audit.String(), r.ForbiddenDetail()))
		}
	}
	if w.isPod {
		r := w.compare(evaluator, levels.Enforce)
		s.count.evaluated(w, levels.Enforce, "enforce", r.Allowed)
		if !r.Allowed {
			return admission.Forbidden(w.Attributes, fmt.Errorf("violates PodSecurity %q: %s", levels.Enforce.String(),
				r.ForbiddenDetail()))
		}
	}
	if levels.Warn.Level == api.LevelPrivileged {
		return nil
	}
	if r := w.compare(evaluator, levels.Warn); !r.Allowed {
		s.count.evaluated(w, levels.Warn, "warn", false)
		request.AddWarning(ctx, fmt.Sprintf("would violate PodSecurity %q: %s", levels.Warn.String(),
			r.ForbiddenDetail()))
	}
	return nil
}

// namespace validates the labels of a namespace, and warns about existing pods that violate a stricter level.
func (s *Plugin) namespace(ctx context.Context, ns *corev1.Namespace, a *admission.Attributes) error {
	now, errs := api.PolicyToEvaluate(ns.Labels, s.defaults)
	old, ok := a.OldObject.(*corev1.Namespace)
	if a.Operation != admission.Update || !ok {
		if err := invalidLabels(ns, errs); err != nil {
			return err
		}
		s.warnIfExempt(ctx, ns, now)
		return nil
	}
	before, oldErrs := api.PolicyToEvaluate(old.Labels, s.defaults)
	if len(errs) > 0 && len(oldErrs) == 0 {
		return invalidLabels(ns, errs)
	}
	if !stricter(now.Enforce, before.Enforce) || s.warnIfExempt(ctx, ns, now) {
		return nil
	}
	return s.warnOfPods(ctx, ns.Name, now.Enforce)
}

// warnIfExempt reports whether a namespace is exempt. It warns if the levels are others than the default ones.
func (s *Plugin) warnIfExempt(ctx context.Context, ns *corev1.Namespace, levels api.Policy) bool {
	if !s.exempt.namespaces.Has(ns.Name) {
		return false
	}
	if levels.FullyPrivileged() || levels.Equivalent(&s.defaults) {
		return true
	}
	var labelled []string
	for _, mode := range []struct {
		name, label, versionLabel string
		level                     api.LevelVersion
	}{
		{"enforce", api.EnforceLevelLabel, api.EnforceVersionLabel, levels.Enforce},
		{"audit", api.AuditLevelLabel, api.AuditVersionLabel, levels.Audit},
		{"warn", api.WarnLevelLabel, api.WarnVersionLabel, levels.Warn},
	} {
		_, hasLevel := ns.Labels[mode.label]
		_, hasVersion := ns.Labels[mode.versionLabel]
		if (hasLevel || hasVersion) && mode.level.Level != api.LevelPrivileged {
			labelled = append(labelled, mode.name+"="+mode.level.String())
		}
	}
	request.AddWarning(ctx, fmt.Sprintf("namespace %q is exempt from Pod Security, and the policy (%s) will be ignored",
		ns.Name, strings.Join(labelled, ", ")))
	return true
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
func (s *Plugin) warnOfPods(ctx context.Context, namespace string, level api.LevelVersion) error {
	evaluator, err := s.evaluator()
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	pods, err := group.Pods(s.stores).ListCached(request.SkippingUnreadable(ctx), namespace)
	if err != nil {
		request.AddWarning(ctx, "failed to list pods while checking new PodSecurity enforce level")
		return nil
	}
	until := time.Now().Add(maxPodsTime)
	faulty := map[string][]string{} // names of pods by their violations
	checked := 0
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return s.exempt.runs(&p.Spec) })
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
