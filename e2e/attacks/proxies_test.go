package attacks

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// external is an API server of the attacker's.
type external struct {
	*remote
	elsewhere *remote

	hangs atomic.Bool // does not answer any more

	mu    sync.Mutex
	users []string // who asked, as the server was told
}

// aggregate makes an external API server that is found by an ExternalName Service.
func (s *target) aggregate(t *testing.T) *external {
	t.Helper()
	e := &external{elsewhere: listen(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "elsewhere")
	})}
	e.remote = listen(t, e.serve)
	u, err := url.Parse(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.apply(`
apiVersion: v1
kind: Service
metadata: {name: evil, namespace: default}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.evil.example.com}
spec: {group: evil.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: evil, port: ` + u.Port() + `}}
`)
	t.Cleanup(func() { s.Kubectl(t, "delete", "apiservice", "v1.evil.example.com") })
	s.eventually("the external server is available", 20*time.Second, func() bool {
		code, answer := s.as("mallory").do("GET", evil+"/ready", "")
		return code == http.StatusOK && answer == "ready"
	})
	return e
}

const evil = "/apis/evil.example.com/v1"

func (e *external) serve(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.users = append(e.users, r.Header.Get("X-Remote-User"))
	e.mu.Unlock()
	if e.hangs.Load() {
		<-r.Context().Done()
		return
	}
	switch r.URL.Path {
	case evil + "/drips":
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	case evil:
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","groupVersion":"evil.example.com/v1","resources":[]}`)
	case evil + "/ready":
		_, _ = io.WriteString(w, "ready")
	case evil + "/redirect":
		http.Redirect(w, r, e.elsewhere.URL, http.StatusFound)
	case evil + "/headers":
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Audit-Id", "forged")
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// upgrade asks the external server, as mallory, to take over the connection, and
// sends what is to come after the answer.
func (s *target) upgrade(path, after string) (code int) {
	s.t.Helper()
	c := s.connect("http/1.1")
	_ = c.SetDeadline(time.Now().Add(generous)) // the reads fail otherwise
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", path, s.token("mallory"))
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if after != "" {
		_, _ = io.WriteString(c, after)
		_, _ = io.Copy(io.Discard, in) // until the connection ends
	}
	return resp.StatusCode
}

// An upgrade that the external server refuses, and a request behind it on the same
// connection. The attacker would speak to the external server on the connection
// that this server has authenticated, as any user.
func failedUpgrade(t *testing.T, s *target) {
	e := s.aggregate(t)
	code := s.upgrade(evil+"/upgrade", "GET "+evil+"/smuggled HTTP/1.1\r\nHost: x\r\nX-Remote-User: smuggler\r\nX-Remote-Group: system:masters\r\nConnection: close\r\n\r\n")
	if code == http.StatusSwitchingProtocols || code < 400 {
		t.Errorf("the upgrade is answered %d", code)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, user := range e.users {
		if user == "smuggler" {
			t.Error("the external server takes the attacker's word")
		}
	}
}

// The external server answers an upgrade with a redirect. The attacker, who has
// taken over what requests are proxied to, would be connected to another server
// with the user's or this server's credentials.
func redirectedUpgrade(t *testing.T, s *target) {
	e := s.aggregate(t)
	code := s.upgrade(evil+"/redirect", "")
	if code < 400 || e.elsewhere.asked.Load() > 0 {
		t.Errorf("the upgrade is answered %d, the other server asked %d times", code, e.elsewhere.asked.Load())
	}
}

// The external server redirects requests. The attacker, who runs it, would have
// clients send what is meant for the API server, credentials and all, elsewhere.
func redirectingServer(t *testing.T, s *target) {
	e := s.aggregate(t)
	s.as("mallory").refused(http.StatusBadGateway, "redirect", "GET", evil+"/redirect", "")
	if n := e.elsewhere.asked.Load(); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// The external server says which web sites may read answers, and under which id
// they are recorded. The attacker would let any site read in the name of who visits
// it, and cover the traces.
func headersOfServers(t *testing.T, s *target) {
	s.aggregate(t)
	c := s.connect("http/1.1")
	_ = c.SetDeadline(time.Now().Add(generous)) // the read fails otherwise
	fmt.Fprintf(c, "GET %s/headers HTTP/1.1\r\nHost: x\r\nOrigin: https://site.example\r\nAudit-Id: own\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", evil, s.token("mallory"))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	defer func() { _ = resp.Body.Close() }()
	header := resp.Header
	for name, values := range header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s: %s", name, values)
		}
	}
	if ids := header.Values("Audit-Id"); len(ids) != 1 || ids[0] != "own" {
		t.Errorf("Audit-Id: %s", ids)
	}
}

// Endpoints of a Service lead to a pod of another namespace. The attacker, who may
// write endpoints and proxy to Services in a namespace, would reach every pod.
func endpointsOfOthers(_ *testing.T, s *target) {
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: target, namespace: victim}
spec: {nodeName: evil, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: decoy, namespace: default}
spec: {nodeName: evil, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Service
metadata: {name: across, namespace: default}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: across, namespace: default}
subsets: [{addresses: [{ip: 192.0.2.9, targetRef: {kind: Pod, namespace: victim, name: target}}], ports: [{port: 80}]}]
`)
	if code, answer := s.as("").do("PATCH", "/api/v1/namespaces/victim/pods/target/status", `{"status":{"podIP":"192.0.2.9","podIPs":[{"ip":"192.0.2.9"}]}}`); code != http.StatusOK {
		s.t.Fatal(code, answer)
	}
	for _, lie := range []string{
		"",                  // an address of a pod of another namespace
		`,"targetRef":null`, // of nobody
		`,"targetRef":{"kind":"Node","name":"evil"}`,                        // of a node
		`,"targetRef":{"kind":"Pod","namespace":"default","name":"target"}`, // as if it were of this one
		`,"targetRef":{"kind":"Pod","namespace":"default","name":"decoy"}`,  // as if it were the attacker's
	} {
		if lie != "" {
			code, answer := s.as("mallory").do("PATCH", "/api/v1/namespaces/default/endpoints/across",
				`{"subsets":[{"addresses":[{"ip":"192.0.2.9"`+lie+`}],"ports":[{"port":80}]}]}`)
			if code != http.StatusOK {
				s.t.Fatal(code, answer)
			}
		}
		s.as("mallory").refused(503, "no endpoints available", "GET",
			"/api/v1/namespaces/default/services/across:80/proxy/", "")
	}
	// A name for an address, which the owner of the name chooses.
	s.apply("apiVersion: v1\nkind: Service\nmetadata: {name: outside, namespace: default}\nspec: {type: ExternalName, externalName: localhost, ports: [{port: 80}]}\n")
	s.as("mallory").refused(503, "no endpoints available", "GET",
		"/api/v1/namespaces/default/services/outside:80/proxy/", "")
}

// Endpoints at addresses of the node itself. The attacker would reach, by a
// Service, what listens on nodes for themselves alone.
func loopbackEndpoints(_ *testing.T, s *target) {
	for _, ip := range []string{"127.0.0.1", "169.254.169.254", "224.0.0.1"} {
		s.as("mallory").refused(422, "may not be in the", "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
			"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: near}\naddressType: IPv4\nports: []\nendpoints: [{addresses: ["+ip+"]}]\n")
		s.as("mallory").refused(422, "may not be in the", "POST", "/api/v1/namespaces/default/endpoints",
			"apiVersion: v1\nkind: Endpoints\nmetadata: {name: near}\nsubsets: [{addresses: [{ip: "+ip+"}], ports: [{port: 80}]}]\n")
	}
}

// Who may edit a namespace writes endpoints. The attacker would have ingresses and
// load balancers send to pods of other namespaces, past network policies.
func editorsWriteEndpoints(_ *testing.T, s *target) {
	s.eventually("the editor may edit", 10*time.Second, func() bool {
		code, _ := s.as("editor").do("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edited}\n")
		return code == http.StatusCreated
	})
	for _, path := range []string{"/api/v1/namespaces/default/endpoints", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"} {
		s.as("editor").refused(403, "cannot create resource", "POST", path, "{}")
		s.as("editor").refused(403, "cannot patch resource", "PATCH", path+"/x", "{}")
	}
}

// A Service takes addresses that are not the cluster's. The attacker would receive
// what pods send to them.
func externalAddresses(_ *testing.T, s *target) {
	const services = "/api/v1/namespaces/default/services"
	s.as("mallory").refused(403, "external IPs", "POST", services, "apiVersion: v1\nkind: Service\nmetadata: {name: taking}\nspec: {externalIPs: [192.0.2.1], ports: [{port: 443}]}\n")
	s.apply("apiVersion: v1\nkind: Service\nmetadata: {name: later, namespace: default}\nspec: {ports: [{port: 443}]}\n")
	s.as("mallory").refused(403, "external IPs", "PATCH", services+"/later", `{"spec":{"externalIPs":["192.0.2.1"]}}`)
}
