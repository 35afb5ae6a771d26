package flowcontrol

import (
	"context"
	"testing"
	"time"

	flowv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

func exemptLevel() *flowv1.PriorityLevelConfiguration {
	return &flowv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "exempt", UID: "exempt-level"},
		Spec: flowv1.PriorityLevelConfigurationSpec{Type: flowv1.PriorityLevelEnablementExempt, Exempt: &flowv1.ExemptPriorityLevelConfiguration{}}}
}

// limitedLevel returns a level, with queues if their count, hand size and length limit are given.
func limitedLevel(name string, shares, lends int32, queues ...int32) *flowv1.PriorityLevelConfiguration {
	l := &flowv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: flowv1.PriorityLevelConfigurationSpec{
		Type: flowv1.PriorityLevelEnablementLimited,
		Limited: &flowv1.LimitedPriorityLevelConfiguration{NominalConcurrencyShares: ptr.To(shares), LendablePercent: ptr.To(lends),
			LimitResponse: flowv1.LimitResponse{Type: flowv1.LimitResponseTypeReject}},
	}}
	if len(queues) > 0 {
		l.Spec.Limited.LimitResponse = flowv1.LimitResponse{Type: flowv1.LimitResponseTypeQueue,
			Queuing: &flowv1.QueuingConfiguration{Queues: queues[0], HandSize: queues[1], QueueLengthLimit: queues[2]}}
	}
	return l
}

func group(name string) flowv1.Subject {
	return flowv1.Subject{Kind: flowv1.SubjectKindGroup, Group: &flowv1.GroupSubject{Name: name}}
}

// schemaOf returns a schema that matches all requests of the subjects. Flows are by user.
func schemaOf(name, level string, precedence int32, subjects ...flowv1.Subject) *flowv1.FlowSchema {
	all := []string{"*"}
	return &flowv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: flowv1.FlowSchemaSpec{
		MatchingPrecedence: precedence, PriorityLevelConfiguration: flowv1.PriorityLevelConfigurationReference{Name: level},
		DistinguisherMethod: &flowv1.FlowDistinguisherMethod{Type: flowv1.FlowDistinguisherMethodByUserType},
		Rules: []flowv1.PolicyRulesWithSubjects{{Subjects: subjects,
			ResourceRules:    []flowv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
			NonResourceRules: []flowv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}},
		}},
	}}
}

// fakeClock calls functions in separate goroutines, like the real clock.
type fakeClock struct{ *clocktesting.FakeClock }

func (c fakeClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.FakeClock.AfterFunc(d, func() { go f() })
}

// world is a controller under test with a level "work" for all users.
type world struct {
	*Controller
	t     testing.TB
	clock *clocktesting.FakeClock
}

// newWorld returns a world whose level "work" has a number of seats, and queues if they are given.
func newWorld(t testing.TB, seats int, queues ...int32) *world {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	c := New(Config{Reads: seats, Clock: fakeClock{clock},
		Levels: []*flowv1.PriorityLevelConfiguration{exemptLevel(), limitedLevel("catch-all", 0, 0), limitedLevel("work", 10, 0, queues...)},
		Schemas: []*flowv1.FlowSchema{schemaOf("exempt", "exempt", 1, group("system:masters")), schemaOf("work", "work", 100, group("workers")),
			schemaOf("catch-all", "catch-all", 10000, group("*"))},
	})
	return &world{c, t, clock}
}

func worker(name string) *user.Info { return &user.Info{Name: name, Groups: []string{"workers"}} }

func get(u *user.Info) Request {
	return Request{User: u, Info: &request.Info{IsResourceRequest: true, Verb: "get", Resource: "pods", Namespace: "ns", Name: "p"}}
}

// ticket classifies a request of a user with a number of seats.
func (w *world) ticket(name string, seats int) *Ticket {
	t := &Ticket{}
	w.Classify(get(worker(name)), t)
	t.seats = seats
	return t
}

// enter starts the execution of a request, which must not wait.
func (w *world) enter(name string, seats int) *Ticket {
	w.t.Helper()
	t := w.ticket(name, seats)
	reason, waits := t.level.arrive(t)
	if reason != "" || waits {
		w.t.Fatalf("%s: %q, waits: %v", name, reason, waits)
	}
	return t
}

// queue queues a request, which must wait.
func (w *world) queue(name string, seats int) *Ticket {
	w.t.Helper()
	t := w.ticket(name, seats)
	if reason, waits := t.level.arrive(t); reason != "" || !waits {
		w.t.Fatalf("%s: %q, waits: %v", name, reason, waits)
	}
	return t
}

// refuse enters a request, which must be rejected.
func (w *world) refuse(name string, want Rejection) {
	w.t.Helper()
	if got := w.ticket(name, 1).Enter(context.Background(), time.Second); got != want {
		w.t.Fatalf("%s: %q", name, got)
	}
}

func (w *world) work() *level { return w.levels["work"] }

// step advances the clock.
func (w *world) step(d time.Duration) { w.clock.Step(d) }
