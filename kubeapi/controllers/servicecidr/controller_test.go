package servicecidr

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func cidr(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
}

func TestOrphans(t *testing.T) {
	going := cidr("going", "10.1.0.0/24", "fd00::/112")
	leaving := cidr("leaving", "10.1.0.0/16")
	leaving.DeletionTimestamp = &metav1.Time{}
	for name, tt := range map[string]struct {
		others []*networkingv1.ServiceCIDR
		ip     string
		want   bool
	}{
		"no IP of it":              {nil, "10.2.0.1", false},
		"an IP":                    {nil, "10.1.0.1", true},
		"one of the second family": {nil, "fd00::7", true},
		"another one has it":       {[]*networkingv1.ServiceCIDR{cidr("stays", "10.1.0.0/16")}, "10.1.0.1", false},
		"another one has others":   {[]*networkingv1.ServiceCIDR{cidr("stays", "10.3.0.0/16")}, "10.1.0.1", true},
		"another one goes, too":    {[]*networkingv1.ServiceCIDR{leaving}, "10.1.0.1", true},
	} {
		held := []*networkingv1.IPAddress{{ObjectMeta: metav1.ObjectMeta{Name: tt.ip}}}
		if got := orphans(going, append(tt.others, going), held); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
