package bootstrap

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	flowv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/authorization/rbac"
	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/group"
)

// Names of the hooks, which are also those of their health checks.
const (
	RBACHook            = "rbac/bootstrap-roles"
	PriorityClassesHook = "scheduling/bootstrap-system-priority-classes"
	FlowControlHook     = "priority-and-fairness-config-producer"
)

const (
	manager     = "kube-apiserver"
	flowManager = "api-priority-and-fairness-config-producer-v1"
)

// RBAC makes sure of the default roles and bindings, and returns when inForce has for them as
// they are stored. Roles come first, so that no binding points to nothing.
func RBAC(ctx context.Context, stores *group.Stores, on Features,
	inForce func(context.Context, []metav1.Object) error) error {
	var (
		mu     sync.Mutex
		policy []metav1.Object
	)
	found := func(o metav1.Object) {
		mu.Lock()
		defer mu.Unlock()
		policy = append(policy, o)
	}
	err := sideBySide(
		func() error { return ensure(ctx, clusterRoleSet(stores, ClusterRoles(on), found)) },
		func() error { return ensure(ctx, roleSet(stores, found)) },
	)
	if err != nil {
		return err
	}
	err = sideBySide(
		func() error { return ensure(ctx, clusterRoleBindingSet(stores, ClusterRoleBindings(on), found)) },
		func() error { return ensure(ctx, roleBindingSet(stores, found)) },
	)
	if err != nil {
		return err
	}
	return inForce(ctx, policy)
}

// sideBySide does two things at once, and returns what went wrong with either.
func sideBySide(one, other func() error) error {
	result := make(chan error, 1)
	worker.Go(func() { result <- worker.Try(one) })
	return errors.Join(other(), <-result)
}

func rbacFields(obj any, m *metav1.ObjectMeta, paths ...[]string) []metav1.ManagedFieldsEntry {
	return owned(manager, rbacv1.SchemeGroupVersion.String(), append(metaPaths(m), present(obj, paths...)...)...)
}

func clusterRoleSet(stores *group.Stores, objects []*rbacv1.ClusterRole,
	found func(metav1.Object)) kindOf[*rbacv1.ClusterRole] {
	return kindOf[*rbacv1.ClusterRole]{
		Handle: group.ClusterRoles(stores), objects: objects, found: found,
		repair: func(have, want *rbacv1.ClusterRole) bool {
			if have.Annotations[autoUpdate] == "false" {
				return false
			}
			changed := repairMeta(&have.ObjectMeta, &want.ObjectMeta)
			if want.AggregationRule != nil {
				if have.AggregationRule == nil {
					have.AggregationRule, changed = want.AggregationRule, true
				}
				return changed
			}
			if _, missing := rbac.Covers(have.Rules, want.Rules); len(missing) > 0 {
				have.Rules, changed = append(have.Rules, rbac.Compact(missing)...), true
			}
			return changed
		},
		fields: func(r *rbacv1.ClusterRole) []metav1.ManagedFieldsEntry {
			return rbacFields(r, &r.ObjectMeta, []string{"rules"}, []string{"aggregationRule"},
				[]string{"aggregationRule", "clusterRoleSelectors"})
		},
	}
}

func roleSet(stores *group.Stores, found func(metav1.Object)) kindOf[*rbacv1.Role] {
	return kindOf[*rbacv1.Role]{
		Handle: group.Roles(stores), objects: roles(), found: found,
		repair: func(have, want *rbacv1.Role) bool {
			if have.Annotations[autoUpdate] == "false" {
				return false
			}
			changed := repairMeta(&have.ObjectMeta, &want.ObjectMeta)
			if _, missing := rbac.Covers(have.Rules, want.Rules); len(missing) > 0 {
				have.Rules, changed = append(have.Rules, rbac.Compact(missing)...), true
			}
			return changed
		},
		fields: func(r *rbacv1.Role) []metav1.ManagedFieldsEntry {
			return rbacFields(r, &r.ObjectMeta, []string{"rules"})
		},
	}
}

// inheritPublicInfo gives public information to the subjects that the administrator of a cluster of
// before 1.14 let discover the API, when the binding came that took this out of
// system:discovery: its annotations say, too, whether it is kept up to date.
func inheritPublicInfo(want *rbacv1.ClusterRoleBinding, find func(string) (*rbacv1.ClusterRoleBinding, bool)) {
	if want.Name != "system:public-info-viewer" {
		return
	}
	from, ok := find("system:discovery")
	if !ok {
		return
	}
	subjects := want.Subjects
	want.Labels, want.Annotations, want.Subjects = maps.Clone(from.Labels), maps.Clone(from.Annotations),
		slices.Clone(from.Subjects)
	if want.Annotations[autoUpdate] != "false" {
		addSubjects(&want.Subjects, subjects)
	}
}

func clusterRoleBindingSet(stores *group.Stores, objects []*rbacv1.ClusterRoleBinding,
	found func(metav1.Object)) kindOf[*rbacv1.ClusterRoleBinding] {
	return kindOf[*rbacv1.ClusterRoleBinding]{
		Handle: group.ClusterRoleBindings(stores), objects: objects, found: found,
		repair: func(have, want *rbacv1.ClusterRoleBinding) bool {
			if have.Annotations[autoUpdate] == "false" {
				return false
			}
			changed := repairMeta(&have.ObjectMeta, &want.ObjectMeta)
			return addSubjects(&have.Subjects, want.Subjects) || changed
		},
		inherit: inheritPublicInfo,
		fields: func(b *rbacv1.ClusterRoleBinding) []metav1.ManagedFieldsEntry {
			return rbacFields(b, &b.ObjectMeta, []string{"roleRef"}, []string{"subjects"})
		},
	}
}

func roleBindingSet(stores *group.Stores, found func(metav1.Object)) kindOf[*rbacv1.RoleBinding] {
	return kindOf[*rbacv1.RoleBinding]{
		Handle: group.RoleBindings(stores), objects: roleBindings(), found: found,
		repair: func(have, want *rbacv1.RoleBinding) bool {
			if have.Annotations[autoUpdate] == "false" {
				return false
			}
			changed := repairMeta(&have.ObjectMeta, &want.ObjectMeta)
			return addSubjects(&have.Subjects, want.Subjects) || changed
		},
		fields: func(b *rbacv1.RoleBinding) []metav1.ManagedFieldsEntry {
			return rbacFields(b, &b.ObjectMeta, []string{"roleRef"}, []string{"subjects"})
		},
	}
}

// repairMeta adds missing labels and annotations and leaves others alone.
func repairMeta(have, want *metav1.ObjectMeta) bool {
	labels := addMissing(&have.Labels, want.Labels)
	return addMissing(&have.Annotations, want.Annotations) || labels
}

func addMissing(have *map[string]string, want map[string]string) bool {
	changed := false
	for k, v := range want {
		if _, ok := (*have)[k]; ok {
			continue
		}
		if *have == nil {
			*have = map[string]string{}
		}
		(*have)[k] = v
		changed = true
	}
	return changed
}

func addSubjects(have *[]rbacv1.Subject, want []rbacv1.Subject) bool {
	present := map[rbacv1.Subject]bool{}
	for _, s := range *have {
		present[s] = true
	}
	changed := false
	for _, s := range want {
		if !present[s] {
			*have, changed = append(*have, s), true
		}
	}
	return changed
}

// PriorityClasses makes sure of the system's priority classes.
func PriorityClasses(ctx context.Context, stores *group.Stores, classes []*schedulingv1.PriorityClass) error {
	return ensure(ctx, kindOf[*schedulingv1.PriorityClass]{
		Handle: group.PriorityClasses(stores), objects: classes,
		fields: func(c *schedulingv1.PriorityClass) []metav1.ManagedFieldsEntry {
			return owned(manager, schedulingv1.SchemeGroupVersion.String(),
				present(c, []string{"description"}, []string{"preemptionPolicy"}, []string{"value"})...)
		},
	})
}

// FlowControl makes sure of the default flow schemas and priority levels.
func FlowControl(ctx context.Context, stores *group.Stores) error {
	return sideBySide(
		func() error { return ensure(ctx, priorityLevelSet(stores)) },
		func() error { return ensure(ctx, flowSchemaSet(stores)) },
	)
}

// Keep returns a runner that does work at intervals, which repairs something.
func Keep(interval time.Duration, what string, work func(context.Context) error) worker.Runner {
	return worker.Every(interval, interval, func(ctx context.Context) {
		if err := work(ctx); err != nil && ctx.Err() == nil {
			klog.InfoS("What the server keeps could not be repaired", "what", what, "err", err)
		}
	})
}

func flowFields(obj any, m *metav1.ObjectMeta, paths ...[]string) []metav1.ManagedFieldsEntry {
	return owned(flowManager, flowv1.SchemeGroupVersion.String(), append(metaPaths(m), present(obj, paths...)...)...)
}

func priorityLevelSet(stores *group.Stores) kindOf[*flowv1.PriorityLevelConfiguration] {
	return kindOf[*flowv1.PriorityLevelConfiguration]{
		Handle: group.PriorityLevelConfigurations(stores), objects: flowcontrol.DefaultLevels(),
		repair: func(have, want *flowv1.PriorityLevelConfiguration) bool {
			if !autoUpdated(&have.ObjectMeta, have.Generation) || equality.Semantic.DeepEqual(have.Spec, want.Spec) {
				return false
			}
			have.Spec = want.Spec
			return true
		},
		fields: func(l *flowv1.PriorityLevelConfiguration) []metav1.ManagedFieldsEntry {
			const spec, limited, response, queuing, exempt = "spec", "limited", "limitResponse", "queuing", "exempt"
			return flowFields(l, &l.ObjectMeta, []string{spec, "type"},
				[]string{spec, limited}, []string{spec, limited, "lendablePercent"},
				[]string{spec, limited, "nominalConcurrencyShares"},
				[]string{spec, limited, response}, []string{spec, limited, response, "type"},
				[]string{spec, limited, response, queuing},
				[]string{spec, limited, response, queuing, "handSize"}, []string{spec, limited, response, queuing,
					"queueLengthLimit"},
				[]string{spec, limited, response, queuing, "queues"},
				[]string{spec, exempt}, []string{spec, exempt, "lendablePercent"},
				[]string{spec, exempt, "nominalConcurrencyShares"})
		},
	}
}

func flowSchemaSet(stores *group.Stores) kindOf[*flowv1.FlowSchema] {
	return kindOf[*flowv1.FlowSchema]{
		Handle: group.FlowSchemas(stores), objects: flowcontrol.DefaultSchemas(),
		repair: func(have, want *flowv1.FlowSchema) bool {
			if !autoUpdated(&have.ObjectMeta, have.Generation) || equality.Semantic.DeepEqual(have.Spec, want.Spec) {
				return false
			}
			have.Spec = want.Spec
			return true
		},
		fields: func(s *flowv1.FlowSchema) []metav1.ManagedFieldsEntry {
			return flowFields(s, &s.ObjectMeta, []string{"spec", "rules"}, []string{"spec", "matchingPrecedence"},
				[]string{"spec", "priorityLevelConfiguration", "name"},
				[]string{"spec", "distinguisherMethod"}, []string{"spec", "distinguisherMethod", "type"})
		},
	}
}

// autoUpdated reports whether the spec of a present object follows the defaults:
// unless the annotation says otherwise it does until it is changed.
func autoUpdated(m *metav1.ObjectMeta, generation int64) bool {
	if v, ok := m.Annotations[flowv1.AutoUpdateAnnotationKey]; ok {
		return v == "true"
	}
	return generation == 1
}
