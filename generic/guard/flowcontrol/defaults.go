package flowcontrol

import (
	"strings"

	flowv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func flowMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Generation: 1,
		Annotations: map[string]string{flowv1.AutoUpdateAnnotationKey: "true"}}
}

// queues configures the queuing of a level.
type queues struct{ count, hand, length int32 }

func limited(name string, shares, lendable int32, q *queues) *flowv1.PriorityLevelConfiguration {
	response := flowv1.LimitResponse{Type: flowv1.LimitResponseTypeReject}
	if q != nil {
		response = flowv1.LimitResponse{Type: flowv1.LimitResponseTypeQueue,
			Queuing: &flowv1.QueuingConfiguration{Queues: q.count, HandSize: q.hand, QueueLengthLimit: q.length}}
	}
	return &flowv1.PriorityLevelConfiguration{ObjectMeta: flowMeta(name), Spec: flowv1.PriorityLevelConfigurationSpec{
		Type: flowv1.PriorityLevelEnablementLimited,
		Limited: &flowv1.LimitedPriorityLevelConfiguration{
			NominalConcurrencyShares: ptr.To(shares), LendablePercent: ptr.To(lendable), LimitResponse: response},
	}}
}

// DefaultLevels returns all default priority levels, including the mandatory ones ("exempt" and "catch-all").
func DefaultLevels() []*flowv1.PriorityLevelConfiguration {
	exempt := &flowv1.PriorityLevelConfiguration{ObjectMeta: flowMeta("exempt"),
		Spec: flowv1.PriorityLevelConfigurationSpec{
			Type: flowv1.PriorityLevelEnablementExempt,
			Exempt: &flowv1.ExemptPriorityLevelConfiguration{NominalConcurrencyShares: ptr.To[int32](0),
				LendablePercent: ptr.To[int32](0)},
		}}
	return []*flowv1.PriorityLevelConfiguration{
		exempt,
		limited("catch-all", 5, 0, nil),
		limited("global-default", 20, 50, &queues{128, 6, 50}),
		limited("leader-election", 10, 0, &queues{16, 4, 50}),
		limited("node-high", 40, 25, &queues{64, 6, 50}),
		limited("system", 30, 33, &queues{64, 6, 50}),
		limited("workload-high", 40, 50, &queues{128, 6, 50}),
		limited("workload-low", 100, 90, &queues{128, 6, 50}),
	}
}

func flow(name string, precedence int32, level string, by flowv1.FlowDistinguisherMethodType,
	rules flowv1.PolicyRulesWithSubjects) *flowv1.FlowSchema {
	s := &flowv1.FlowSchema{ObjectMeta: flowMeta(name), Spec: flowv1.FlowSchemaSpec{
		MatchingPrecedence: precedence, Rules: []flowv1.PolicyRulesWithSubjects{rules},
		PriorityLevelConfiguration: flowv1.PriorityLevelConfigurationReference{Name: level},
	}}
	if by != "" {
		s.Spec.DistinguisherMethod = &flowv1.FlowDistinguisherMethod{Type: by}
	}
	return s
}

func flowResources(verbs, group, resources string, clusterScope bool) flowv1.ResourcePolicyRule {
	return flowv1.ResourcePolicyRule{Verbs: strings.Fields(verbs), APIGroups: []string{group},
		Resources:    strings.Fields(resources),
		ClusterScope: clusterScope, Namespaces: []string{flowv1.NamespaceEvery}}
}

func flowPaths(verbs, urls string) flowv1.NonResourcePolicyRule {
	return flowv1.NonResourcePolicyRule{Verbs: strings.Fields(verbs), NonResourceURLs: strings.Fields(urls)}
}

// everythingOf returns rules that match all requests of the subjects.
func everythingOf(subjects ...flowv1.Subject) flowv1.PolicyRulesWithSubjects {
	return flowv1.PolicyRulesWithSubjects{
		Subjects:         subjects,
		ResourceRules:    []flowv1.ResourcePolicyRule{flowResources("*", "*", "*", true)},
		NonResourceRules: []flowv1.NonResourcePolicyRule{flowPaths("*", "*")},
	}
}

func flowGroup(name string) flowv1.Subject {
	return flowv1.Subject{Kind: flowv1.SubjectKindGroup, Group: &flowv1.GroupSubject{Name: name}}
}

func flowUser(name string) flowv1.Subject {
	return flowv1.Subject{Kind: flowv1.SubjectKindUser, User: &flowv1.UserSubject{Name: name}}
}

func flowAccounts(namespace string) flowv1.Subject {
	return flowv1.Subject{Kind: flowv1.SubjectKindServiceAccount,
		ServiceAccount: &flowv1.ServiceAccountSubject{Namespace: namespace, Name: flowv1.NameAll}}
}

// DefaultSchemas returns all default flow schemas.
func DefaultSchemas() []*flowv1.FlowSchema {
	byUser, byNamespace := flowv1.FlowDistinguisherMethodByUserType, flowv1.FlowDistinguisherMethodByNamespaceType
	unauthenticated, authenticated := flowGroup("system:unauthenticated"), flowGroup("system:authenticated")
	manager, scheduler, system := flowUser("system:kube-controller-manager"), flowUser("system:kube-scheduler"),
		flowAccounts("kube-system")
	nodes := flowGroup("system:nodes")
	return []*flowv1.FlowSchema{
		flow("exempt", 1, "exempt", "", everythingOf(flowGroup("system:masters"))),
		flow("probes", 2, "exempt", "", flowv1.PolicyRulesWithSubjects{
			Subjects:         []flowv1.Subject{unauthenticated, authenticated},
			NonResourceRules: []flowv1.NonResourcePolicyRule{flowPaths("get", "/healthz /readyz /livez")},
		}),
		flow("system-leader-election", 100, "leader-election", byUser, flowv1.PolicyRulesWithSubjects{
			Subjects: []flowv1.Subject{manager, scheduler, system},
			ResourceRules: []flowv1.ResourcePolicyRule{flowResources("get create update", "coordination.k8s.io", "leases",
				false)},
		}),
		flow("system-node-high", 400, "node-high", byUser, flowv1.PolicyRulesWithSubjects{
			Subjects: []flowv1.Subject{nodes},
			ResourceRules: []flowv1.ResourcePolicyRule{
				flowResources("*", "", "nodes nodes/status", true),
				flowResources("*", "coordination.k8s.io", "leases", false),
			},
		}),
		flow("system-nodes", 500, "system", byUser, everythingOf(nodes)),
		flow("kube-controller-manager", 800, "workload-high", byNamespace, everythingOf(manager)),
		flow("kube-scheduler", 800, "workload-high", byNamespace, everythingOf(scheduler)),
		flow("kube-system-service-accounts", 900, "workload-high", byNamespace, everythingOf(system)),
		flow("service-accounts", 9000, "workload-low", byUser, everythingOf(flowGroup("system:serviceaccounts"))),
		flow("global-default", 9900, "global-default", byUser, everythingOf(unauthenticated, authenticated)),
		flow("catch-all", 10000, "catch-all", byUser, everythingOf(unauthenticated, authenticated)),
	}
}
