package filters

import (
	"net/http"
	"net/http/httptest"
	"testing"

	flowv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/flowcontrol"
)

// flowOptions are testOptions with flow control with so many seats and no queues.
func flowOptions(seats int) Options {
	all := []string{"*"}
	schema := func(name string, precedence int32, group string) *flowv1.FlowSchema {
		return &flowv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "schema-uid"}, Spec: flowv1.FlowSchemaSpec{
			MatchingPrecedence: precedence, PriorityLevelConfiguration: flowv1.PriorityLevelConfigurationReference{Name: name},
			Rules: []flowv1.PolicyRulesWithSubjects{{
				Subjects:         []flowv1.Subject{{Kind: flowv1.SubjectKindGroup, Group: &flowv1.GroupSubject{Name: group}}},
				ResourceRules:    []flowv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
				NonResourceRules: []flowv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}},
			}},
		}}
	}
	level := func(name string, spec flowv1.PriorityLevelConfigurationSpec) *flowv1.PriorityLevelConfiguration {
		return &flowv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "level-uid"}, Spec: spec}
	}
	o := testOptions()
	o.FlowControl = flowcontrol.New(flowcontrol.Config{
		Reads:   seats,
		Schemas: []*flowv1.FlowSchema{schema("exempt", 1, "system:masters"), schema("catch-all", 10000, "*")},
		Levels: []*flowv1.PriorityLevelConfiguration{
			level("exempt", flowv1.PriorityLevelConfigurationSpec{Type: flowv1.PriorityLevelEnablementExempt, Exempt: &flowv1.ExemptPriorityLevelConfiguration{}}),
			level("catch-all", flowv1.PriorityLevelConfigurationSpec{Type: flowv1.PriorityLevelEnablementLimited,
				Limited: &flowv1.LimitedPriorityLevelConfiguration{NominalConcurrencyShares: ptr.To[int32](1), LimitResponse: flowv1.LimitResponse{Type: flowv1.LimitResponseTypeReject}}}),
		},
	})
	return o
}

// While a request of one user holds the only seat, requests of others get 429. Exempt requests, and long-running
// ones except watches, are not controlled.
func TestPriorityAndFairness(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	o := flowOptions(1)
	o.Authorization = nil
	chain := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if request.InfoFrom(r.Context()).Name == "slow" {
			close(entered)
			<-leave
		}
	}), o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(chain, "GET", "/api/v1/nodes/slow", "Authorization", "Bearer alice")
	}()
	<-entered
	for _, c := range []struct {
		path, token string
		code        int
	}{
		{"/api/v1/nodes/n", "alice", 429},
		{"/api/v1/nodes?watch=1", "alice", 429},
		{"/api/v1/namespaces/ns/pods/p/log", "alice", 200},
		{"/api/v1/nodes/n", "admin", 200},
	} {
		w := serve(chain, "GET", c.path, "Authorization", "Bearer "+c.token)
		if w.Code != c.code || c.code == 429 && w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s of %s: %d %v", c.path, c.token, w.Code, w.Header())
		}
		controlled := w.Header().Get("X-Kubernetes-PF-FlowSchema-UID") == "schema-uid" && w.Header().Get("X-Kubernetes-PF-PriorityLevel-UID") == "level-uid"
		if controlled != (c.path != "/api/v1/namespaces/ns/pods/p/log") {
			t.Errorf("%s of %s: %v", c.path, c.token, w.Header())
		}
	}
	close(leave)
	<-done
	if w := serve(chain, "GET", "/api/v1/nodes/n", "Authorization", "Bearer alice"); w.Code != 200 {
		t.Errorf("%d when the seat is free", w.Code)
	}
}

// A watch releases its seat when it has initialized.
func TestWatchesAreControlledWhileTheyInitialize(t *testing.T) {
	entered, initialize, initialized, leave := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	o := flowOptions(1)
	o.Authorization = nil
	chain := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		state := request.StateFrom(r.Context())
		if state.Seats == nil || state.Info.Verb != "watch" {
			return
		}
		close(entered)
		<-initialize
		state.Seats.Release()
		close(initialized)
		<-leave
	}), o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(chain, "GET", "/api/v1/nodes?watch=1", "Authorization", "Bearer alice")
	}()
	<-entered
	get := func() int { return serve(chain, "GET", "/api/v1/nodes/n", "Authorization", "Bearer alice").Code }
	if code := get(); code != 429 {
		t.Errorf("%d while the watch initializes", code)
	}
	close(initialize)
	<-initialized
	if code := get(); code != 200 {
		t.Errorf("%d when it has", code)
	}
	close(leave)
	<-done
}

func BenchmarkPriorityAndFairness(b *testing.B) {
	for name, o := range map[string]Options{"fairness": flowOptions(600), "limits": testOptions()} {
		o.MaxRequestsInFlight, o.MaxMutatingRequestsInFlight = 400, 200
		chain := Chain(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), o)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			w := httptest.NewRecorder()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/ns/pods/p", nil)
				r.Header["Authorization"] = []string{"Bearer admin"}
				clear(w.Header())
				chain.ServeHTTP(w, r)
			}
		})
	}
}
