package events

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane/kubeapi/kindtest"
)

func TestDeclared(t *testing.T) {
	kindtest.Declared(t, eventKind(time.Hour), "events event Event namespaced short=ev")
}

func TestRoundTrip(t *testing.T) {
	e := &corev1.Event{Reason: "r", Message: "m", Count: 3, Type: "Normal", Action: "a", ReportingController: "c", ReportingInstance: "i",
		Source: corev1.EventSource{Component: "x"}, Series: &corev1.EventSeries{Count: 2}, FirstTimestamp: metav1.Now()}
	if got := toCore(fromCore(e)); !equality.Semantic.DeepEqual(e, got) {
		t.Errorf("got %+v", got)
	}
}

func TestValidation(t *testing.T) {
	kindtest.Refused(t, eventKind(time.Hour), "metadata: {namespace: n}",
		`involvedObject.namespace: Invalid value: "": does not match event.namespace`, "eventTime: Required value",
		`type: Invalid value: "": has invalid value: `)
}
