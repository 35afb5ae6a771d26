package apiextensions

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Who has read that a definition is established can use it at once, also when many come together.
func TestEstablishedIsServed(t *testing.T) {
	s, _ := startWhole(t)
	h := s.GenericAPIServer.Handler.FullHandlerChain
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	var all sync.WaitGroup
	for i := range 48 {
		all.Go(func() {
			group := fmt.Sprintf("g%d.example.com", i)
			definition := strings.ReplaceAll(widgets, "example.com", group)
			if w := ask(t.Context(), h, "POST", definitions, definition); w.Code != 201 {
				t.Errorf("%d %s", w.Code, w.Body)
				return
			}
			established := func() bool {
				read := ask(t.Context(), h, "GET", definitions+"/widgets."+group, "")
				return strings.Contains(read.Body.String(), `"type":"Established","status":"True"`)
			}
			for began := time.Now(); !established() && time.Since(began) < 10*time.Second; {
				time.Sleep(100 * time.Microsecond)
			}
			if w := ask(t.Context(), h, "GET", "/apis/"+group+"/v1/widgets", ""); w.Code != 200 {
				t.Errorf("the objects of %s: %d %s", group, w.Code, w.Body)
			}
		})
	}
	all.Wait()
}
