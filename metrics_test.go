package triplane

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
)

// referenceMetrics are those of a kube-apiserver v1.37 that was used a little, and has all its features: name, type
// and labels, a metric a line; "-" where the labels are not known.
//
//go:embed testdata/metrics.txt
var referenceMetrics string

// absentMetrics has the reasons why metrics of kube-apiserver are missing here, by prefix of their names.
var absentMetrics = map[string]string{
	"aggregator_discovery_aggregation_count_total":             "documents are made when something changes",
	"pod_security_evaluations_total":                           "there is no pod in this test",
	"apiextensions_apiserver_validation_ratcheting_":           "old values are compared while validating, not in a step of its own",
	"apiserver_audit_level_total":                              "there is no policy in this test",
	"apiserver_watch_events_dispatch_duration_seconds":         "events are shared by watches, and their times not kept",
	"etcd_request_errors_total":                                "no request fails in this test",
	"informer_":                                                "client-go counts informers for the process, for whoever registers first",
	"leader_election_master_status":                            "client-go counts elections for the process, for whoever registers first",
	"watch_cache_capacity_increase_total":                      "histories are bounded by bytes, and grow as they need",
	"apiserver_request_post_timeout_total":                     "handlers end with their request",
	"apiserver_request_timestamp_comparison_time":              "managed fields are compared without it",
	"apiserver_resource_size_estimate_bytes":                   "sizes are known by byte budgets, not by resource",
	"apiserver_validation_":                                    "there is one validation",
	"cardinality_enforcement_":                                 "--allow-metric-labels replaces values when metrics are read, not when they are counted",
	"etcd_bookmark_total":                                      "one watch for all resources has no bookmarks of each",
	"etcd_lease_object_counts":                                 "leases are shared by time, not by count",
	"grpc_client_":                                             "etcd is asked without gRPC in this test",
	"registered_metrics_total":                                 "metrics have no stability levels here: all are kept as kube-apiserver keeps its stable ones",
	"rest_client_exec_plugin_":                                 "clients of this process use no plugins",
	"rest_client_transport_":                                   "the transport of clients of this process is a function call",
	"apiserver_flowcontrol_read_vs_write_current_requests":     "not much executes in this test",
	"apiserver_impersonation_":                                 "nobody impersonates in this test",
	"apiserver_request_terminations_total":                     "nothing is terminated in this test",
	"apiserver_request_aborts_total":                           "nothing is aborted in this test",
	"workqueue_retries_total":                                  "nothing is retried in this test",
	"apiserver_flowcontrol_request_queue_length_after_enqueue": "nothing is queued in this test",
}

// ownMetrics are metrics that kube-apiserver does not have, or that were not recorded.
var ownMetrics = []string{"apiserver_authorization_decisions_total", "apiserver_audit_error_total", "apiserver_storage_objects", "triplane_worker_panics_total",
	"triplane_chain_requests_total", "triplane_chain_request_duration_seconds",
	"triplane_embedded_etcd_quota_bytes", "triplane_embedded_etcd_used_bytes", "triplane_embedded_etcd_refused_writes_total", "triplane_embedded_etcd_defragmentations_total",
	"triplane_embedded_etcd_stored_minor_release", "triplane_embedded_etcd_log_bytes", "triplane_embedded_etcd_log_limit_bytes",
	"triplane_embedded_etcd_delayed_writes_total",
	"triplane_stalled_requests", "triplane_stalled_request_bytes"}

// scrape reads /metrics.
func scrape(t *testing.T, c restclient.Interface) map[string]*dto.MetricFamily {
	t.Helper()
	text, err := c.Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// use sends requests of all kinds that are counted.
func use(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	yes := true
	w, err := c.CoreV1().Endpoints("default").Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: "NotOlderThan"})
	if err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() {
		if e.Type == "BOOKMARK" {
			break
		}
	}
	w.Stop()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "default"}}
	if _, err := c.CoreV1().ConfigMaps("default").Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CoreV1().ConfigMaps("default").Delete(ctx, "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestMetricsAreThoseOfKubeAPIServer(t *testing.T) {
	s := startServer(t, t.TempDir())
	c := client(t, s)
	use(t, c)
	have := scrape(t, c.CoreV1().RESTClient())
	unused := maps.Clone(absentMetrics)
	for line := range strings.Lines(referenceMetrics) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		family, why := have[name], reason(name)
		delete(have, name)
		switch {
		case family == nil && why == "":
			t.Errorf("%s is absent", name)
		case family == nil:
			delete(unused, why)
		case why != "" && !strings.HasSuffix(absentMetrics[why], "in this test"):
			t.Errorf("%s is there, and should not be: %s", name, absentMetrics[why])
		default:
			if got := strings.ToLower(family.GetType().String()) + " " + labels(family); got != rest && !strings.HasSuffix(rest, "-") {
				t.Errorf("%s is %s, want %s", name, got, rest)
			}
		}
	}
	for name := range have {
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && !slices.Contains(ownMetrics, name) {
			t.Errorf("kube-apiserver has no %s", name)
		}
	}
	for prefix, why := range unused {
		if !strings.HasSuffix(why, "in this test") {
			t.Errorf("no metric begins with %s", prefix)
		}
	}
}

// Storage reads of lists, bytes that clients in the process send, and the cost of custom resources' rules are
// counted.
func TestMetricsOfStorageClientsAndRules(t *testing.T) {
	s := startServer(t, t.TempDir())
	admin := client(t, s).CoreV1().RESTClient()
	post := func(path, body string) {
		t.Helper()
		if err := admin.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.example.com"},
		"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"foos","kind":"Foo"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0"},{"rule":"self < 10"}]}}}}}]}}`)
	eventually(t, "the resource is served", func() bool {
		return admin.Get().AbsPath("/apis/example.com/v1/foos").Do(t.Context()).Error() == nil
	})
	post("/apis/example.com/v1/foos", `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"f"},"a":1}`)
	have := scrape(t, admin)
	if n := have["apiserver_cel_evaluation_duration_seconds"].GetMetric()[0].GetHistogram().GetSampleCount(); n != 2 {
		t.Errorf("%d evaluations, want 2", n)
	}
	if n := have["apiserver_cel_compilation_duration_seconds"].GetMetric()[0].GetHistogram().GetSampleCount(); n != 1 {
		t.Errorf("%d compilations, want 1", n)
	}
	lists := 0.0
	for _, m := range have["apiserver_storage_list_total"].GetMetric() {
		if l := m.GetLabel(); l[2].GetValue() == "foos" && l[3].GetValue() == "etcd" {
			lists += m.GetCounter().GetValue()
		}
	}
	if lists == 0 {
		t.Error("the lists that fill caches are not counted")
	}
	for _, family := range []string{"apiserver_storage_list_duration_seconds", "apiserver_watch_cache_initialization_duration_seconds",
		"rest_client_request_size_bytes", "rest_client_response_size_bytes"} {
		sum := 0.0
		for _, m := range have[family].GetMetric() {
			sum += m.GetHistogram().GetSampleSum()
		}
		if sum == 0 {
			t.Errorf("%s has observed nothing", family)
		}
	}
}

// reason returns the prefix that explains the absence of a metric.
func reason(name string) string {
	for prefix := range absentMetrics {
		if strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}

// labels returns the label names of a metric, in the format of the reference.
func labels(f *dto.MetricFamily) string {
	names := map[string]bool{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			names[l.GetName()] = true
		}
		if m.Summary != nil {
			names["quantile"] = true
		}
	}
	return fmt.Sprintf("{%s}", strings.Join(slices.Sorted(maps.Keys(names)), ","))
}
