package admission

import (
	"slices"
	"testing"

	restclient "k8s.io/client-go/rest"

	"triplane/generic/admission"
)

func TestTableOfPlugins(t *testing.T) {
	p, err := New(Dependencies{Stores: testStores(), Loopback: &restclient.Config{Host: "http://loopback.invalid"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var off []string
	seen := map[string]bool{}
	for i, row := range Table() {
		if seen[row.Name] {
			t.Errorf("%s is there twice", row.Name)
		}
		seen[row.Name] = true
		if !row.OnByDefault {
			off = append(off, row.Name)
		}
		_, mutates := p.Chain[i].(admission.MutatingInterface)
		_, validates := p.Chain[i].(admission.ValidatingInterface)
		if !mutates && !validates {
			t.Errorf("%s neither mutates nor validates", row.Name)
		}
	}
	if want := []string{"NodeRestriction", "DenyServiceExternalIPs"}; !slices.Equal(off, want) {
		t.Errorf("off by default: %q, want %q", off, want)
	}
}
