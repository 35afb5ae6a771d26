package event

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRoundTrip(t *testing.T) {
	e := &corev1.Event{Reason: "r", Message: "m", Count: 3, Type: "Normal", Action: "a", ReportingController: "c", ReportingInstance: "i",
		Source: corev1.EventSource{Component: "x"}, Series: &corev1.EventSeries{Count: 2}, FirstTimestamp: metav1.Now()}
	view, err := fromCore(e)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := toCore(view); err != nil || !equality.Semantic.DeepEqual(e, got) {
		t.Errorf("got %+v", got)
	}
}
