package requestmetrics

import (
	"fmt"
	"testing"
)

// The number of series is limited, whatever resources a remote server has.
func TestSeriesAreBounded(t *testing.T) {
	m := New()
	for i := range maxSeries + 100 {
		m.Requests.Observe(&Done{Series: Series{Verb: "GET", Group: "g", Version: "v1", Resource: fmt.Sprint("r", i), Scope: "resource"}, Known: true, Code: 200})
	}
	if n := len(m.Requests.series); n > maxSeries+1 { // and that of the verb alone
		t.Errorf("there are %d kinds of requests", n)
	}
	if m.Requests.find(Series{Verb: "GET"}, false) == nil {
		t.Error("the requests beyond the bound are not counted")
	}
}
