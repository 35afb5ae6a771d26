package triplane

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/generic/storage/embedded"
)

// Wrong allocations of cluster IPs and node ports are repaired, with the Events of kube-apiserver.
func TestAllocationRepairWritesEvents(t *testing.T) {
	broken := map[string]string{}
	service := func(name, ip string, ports ...int) {
		text := ""
		for i, p := range ports {
			text += fmt.Sprintf(`,{"name":"p%d","port":%d,"protocol":"TCP","nodePort":%d}`, i, i+1, p)
		}
		broken["services/specs/default/"+name] = fmt.Sprintf(`{"kind":"Service","apiVersion":"v1","metadata":{"name":%q,"namespace":"default","uid":%q,"creationTimestamp":"2026-01-01T00:00:00Z"},
			"spec":{"type":"NodePort","clusterIP":%q,"clusterIPs":[%q],"ports":[{"name":"p","port":80,"protocol":"TCP"}%s],"sessionAffinity":"None","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"}}`,
			name, "uid-"+name, ip, ip, text)
	}
	address := func(ip, owner string) {
		broken["ipaddresses/"+ip] = fmt.Sprintf(`{"kind":"IPAddress","apiVersion":"networking.k8s.io/v1","metadata":{"name":%q,"uid":%q,"creationTimestamp":"2026-01-01T00:00:00Z"},
			"spec":{"parentRef":{"resource":"services","namespace":"default","name":%q}}}`, ip, "uid-"+ip, owner)
	}
	service("missing", "10.0.0.50")
	service("outside", "10.9.9.9")
	service("wrong", "abc")
	service("twice-a", "10.0.0.60", 30010)
	address("10.0.0.60", "twice-a")
	service("twice-b", "10.0.0.60", 30010)
	service("stolen", "10.0.0.61", 40000)
	address("10.0.0.61", "nobody")
	address("10.0.0.70", "gone")
	dir := t.TempDir()
	if err := startServer(t, dir).Stop(); err != nil { // creates the namespace of the Events
		t.Fatal(err)
	}
	etcd, err := embedded.Start(t.Context(), embedded.Config{Dir: filepath.Join(dir, "etcd")})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range broken {
		if _, err := etcd.Backend().Create(t.Context(), "/registry/"+key, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := etcd.Close(); err != nil {
		t.Fatal(err)
	}

	c := client(t, startServer(t, dir))
	want := []string{
		"IPAddress 10.0.0.70: IPAddressNotAllocated IPAddress: 10.0.0.70 for Service default/gone appears to have leaked: cleaning up",
		"Service missing: ClusterIPNotAllocated Cluster IP [IPv4]: 10.0.0.50 is not allocated; repairing",
		"Service outside: ClusterIPOutOfRange Cluster IP [IPv4]: 10.9.9.9 is not within any configured Service CIDR; please recreate service",
		"Service stolen: ClusterIPNotAllocated the ClusterIP [IPv4]: 10.0.0.61 for Service default/stolen has a wrong reference; repairing",
		"Service stolen: PortOutOfRange Port 40000 is not within the port range 30000-32767; please recreate service",
		"Service twice-a: PortNotAllocated Port 30010 is not allocated; repairing",
		"Service twice-b: ClusterIPAlreadyAllocated Cluster IP [IPv4]:10.0.0.60 was assigned to multiple services; please recreate service",
		"Service twice-b: PortAlreadyAllocated Port 30010 was assigned to multiple services; please recreate service",
		"Service wrong: ClusterIPNotValid Cluster IP abc is not a valid IP; please recreate Service",
	}
	var got []string
	eventually(t, "all events are there", func() bool {
		list, err := c.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for i := range list.Items {
			e := &list.Items[i]
			if strings.HasSuffix(e.ReportingController, "allocator-repair-controller") && e.Type == "Warning" {
				got = append(got, fmt.Sprintf("%s %s: %s %s", e.Regarding.Kind, e.Regarding.Name, e.Reason, e.Note))
			}
		}
		return len(got) >= len(want)
	})
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for ip, owner := range map[string]string{"10.0.0.50": "missing", "10.0.0.60": "twice-a", "10.0.0.61": "stolen", "10.0.0.70": ""} {
		a, err := c.NetworkingV1().IPAddresses().Get(t.Context(), ip, metav1.GetOptions{})
		if (err == nil) != (owner != "") || err == nil && a.Spec.ParentRef.Name != owner {
			t.Errorf("%s is of %v, %v, want %q", ip, a, err, owner)
		}
	}
}

// A cluster IP that is not allocated is allocated when its Service is created or updated, by any writer.
func TestClusterIPsOfServicesAreAllocatedWhenTheyCome(t *testing.T) {
	s := startServer(t, t.TempDir())
	c := client(t, s)
	const service = `{"kind":"Service","apiVersion":"v1","metadata":{"name":"old","namespace":"default","uid":"u","creationTimestamp":"2026-01-01T00:00:00Z"},
		"spec":{"type":"ClusterIP","clusterIP":"10.0.0.50","ports":[{"name":"p","port":80,"protocol":"TCP"}]}}`
	if _, err := s.store.Backend().Create(t.Context(), "/registry/services/specs/default/old", []byte(service), 0); err != nil {
		t.Fatal(err)
	}
	held := func() bool {
		a, err := c.NetworkingV1().IPAddresses().Get(t.Context(), "10.0.0.50", metav1.GetOptions{})
		return err == nil && a.Spec.ParentRef.Name == "old"
	}
	eventually(t, "the IP of the new Service is allocated", held)

	if err := c.NetworkingV1().IPAddresses().Delete(t.Context(), "10.0.0.50", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.CoreV1().Services("default").Patch(t.Context(), "old", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the IP of the changed Service is allocated", held)
}
