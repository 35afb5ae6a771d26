package aggregator

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"
)

func TestValidateSpec(t *testing.T) {
	type change = func(*apiregistrationv1.APIService)
	tests := []struct {
		name   string
		change change
		want   string
	}{
		{"good", func(*apiregistrationv1.APIService) {}, ""},
		{"another name", func(s *apiregistrationv1.APIService) { s.Name = "v2.ext.example.com" },
			"metadata.name: Invalid value: \"v2.ext.example.com\": must be `spec.version+\".\"+spec.group`: \"v1.ext.example.com\""},
		{"no path segment", func(s *apiregistrationv1.APIService) { s.Name = "a/b" }, `metadata.name: Invalid value: "a/b": may not contain '/'`},
		{"generated name", func(s *apiregistrationv1.APIService) { s.GenerateName = "v1." }, "metadata.generateName: Invalid value"},
		{"no name is reported elsewhere", func(s *apiregistrationv1.APIService) { s.Name = "" }, ""},
		{"no group", func(s *apiregistrationv1.APIService) { s.Name, s.Spec.Group, s.Spec.Version = "v2.", "", "v2" },
			"spec.group: Required value: only v1 may have an empty group and it better be legacy kube"},
		{"legacy", func(s *apiregistrationv1.APIService) { s.Name, s.Spec.Group = "v1.", "" }, ""},
		{"malformed group", func(s *apiregistrationv1.APIService) { s.Name, s.Spec.Group = "v1.A_B", "A_B" }, "spec.group: Invalid value"},
		{"malformed version", func(s *apiregistrationv1.APIService) { s.Name, s.Spec.Version = "V.ext.example.com", "V" }, "spec.version: Invalid value"},
		{"group priority", func(s *apiregistrationv1.APIService) { s.Spec.GroupPriorityMinimum = 20001 },
			"spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000"},
		{"version priority", func(s *apiregistrationv1.APIService) { s.Spec.VersionPriority = 0 },
			"spec.versionPriority: Invalid value: 0: must be positive and less than 1000"},
		{"port", func(s *apiregistrationv1.APIService) { s.Spec.Service.Port = ptr.To[int32](70000) }, "spec.service.port: Invalid value: 70000"},
		{"service without names", func(s *apiregistrationv1.APIService) { s.Spec.Service.Name, s.Spec.Service.Namespace = "", "" },
			"[spec.service.namespace: Required value, spec.service.name: Required value]"},
		{"insecure with authority", func(s *apiregistrationv1.APIService) { s.Spec.CABundle = []byte("x") },
			"spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"},
		{"local and insecure", func(s *apiregistrationv1.APIService) { s.Spec.Service = nil },
			"spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := remoteService(apiregistrationv1.ConditionTrue)
			tt.change(s)
			got := ""
			if err := append(validateNames(s), validateSpec(s)...).ToAggregate(); err != nil {
				got = err.Error()
			}
			if got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSetAvailableKeepsTransition(t *testing.T) {
	s := remoteService(apiregistrationv1.ConditionFalse)
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	s.Status.Conditions[0].LastTransitionTime = long
	if !setAvailable(s, unavailable("ServiceNotFound", "gone")) {
		t.Error("another reason is no change")
	}
	if got := available(s).LastTransitionTime; !got.Equal(&long) {
		t.Errorf("the condition became false at %v", got)
	}
	if setAvailable(s, unavailable("ServiceNotFound", "gone")) {
		t.Error("the same again is a change")
	}
	setAvailable(s, localCondition())
	if c := available(s); c.LastTransitionTime.Equal(&long) || !isAvailable(s) {
		t.Errorf("condition %+v", c)
	}
}

func TestStatusIsNoTable(t *testing.T) {
	if k := apiServiceKind(); !k.Status.NoTable || k.Columns == nil {
		t.Error("an APIService is shown as a table, its status is not")
	}
}

func TestCells(t *testing.T) {
	tests := []struct {
		service   *apiregistrationv1.APIService
		where, ok string
	}{
		{remoteService(apiregistrationv1.ConditionTrue), "ns/ext", "True"},
		{&apiregistrationv1.APIService{}, "Local", "Unknown"},
		{&apiregistrationv1.APIService{Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{
			unavailable("MissingEndpoints", "none")}}}, "Local", "False (MissingEndpoints)"},
	}
	for _, tt := range tests {
		if where, ok := serviceCell(tt.service), availableCell(tt.service); where != tt.where || ok != tt.ok {
			t.Errorf("%s %s, want %s %s", where, ok, tt.where, tt.ok)
		}
	}
}
