package attacks

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// discovery is a large answer that anybody may have here.
const discovery = "/openapi/v2"

// anyone lets anonymous users read what is large.
const anyone = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: anyone-discovers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:discovery}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: system:unauthenticated}]
`

// Answers that the client does not take, as it gives no HTTP/2 window. The attacker
// would hold all slots of the server with some connections, without credentials,
// for as long as they are open: everybody else gets 429.
func TestAnswersThatAreNotTaken(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := start(t, "--request-timeout=3s", "--enable-priority-and-fairness=false", "--max-requests-inflight=20")
	s.KubectlIn(t, anyone, "apply", "-f", "-")
	for range 40 {
		// Connections of the anonymous end after a request.
		if err := s.streams(0).open("GET", discovery, true); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually("the attack has begun", 10*time.Second, func() bool { return s.stalled() > 0 })
	if code, _, err := s.ask("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 5*time.Second); err != nil ||
		code != http.StatusOK {
		t.Errorf("a health probe is answered %d, %v", code, err)
	}
	s.eventually("the slots are free again", 15*time.Second,
		func() bool { return s.inFlight() == 0 && s.stalled() == 0 })
}

// An external API server that does not answer, or a byte at a time. The attacker, who
// runs it and may send requests to it, would hold slots of this server with them, and
// discovery of everybody.
func TestSlowServers(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := start(t, "--request-timeout=3s")
	s.KubectlIn(t, rights, "apply", "-f", "-")
	token := s.writer()
	e := s.aggregate(t)
	for what, path := range map[string]string{"drips": evil + "/drips", "hangs": evil + "/silent"} {
		e.hangs.Store(what == "hangs")
		request := "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\nConnection: close\r\n\r\n"
		var all sync.WaitGroup
		var seen atomic.Bool
		defer seen.Store(true)
		begun := time.Now()
		for range 50 {
			all.Go(func() {
				for again := true; again; again = !seen.Load() { // on a busy machine the first end before the last begin
					if code, _, err := s.ask(request, generous); what == "hangs" &&
						(err != nil || (code != http.StatusGatewayTimeout && code != http.StatusServiceUnavailable)) {
						t.Errorf("a server that hangs: %d, %v", code, err)
					}
				}
			})
		}
		s.eventually("the attack has begun: it "+what, generous, func() bool { return s.inFlight() >= 50 })
		seen.Store(true)
		if took := time.Since(begun); took < 2*time.Second {
			asked := time.Now()
			s.get("/apis")
			if took := time.Since(asked); took > 2*time.Second {
				t.Errorf("it %s: discovery took %v", what, took)
			}
		}
		all.Wait()
		s.eventually("the slots are free again after it "+what, 15*time.Second,
			func() bool { return s.inFlight() == 0 })
	}
}

// Bodies that never come, over HTTP/2 and HTTP/1. The attacker would hold slots,
// and the buffers of what was announced, for as long as the connections are open;
// and keep the server from shutting down.
func TestBodiesThatNeverCome(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := start(t, "--request-timeout=3s")
	token := s.writer()
	const path = "/api/v1/namespaces/default/configmaps"
	before := s.heap()
	x := s.streams(1 << 16)
	for range 50 {
		if err := x.open("POST", path, false, "authorization", "Bearer "+token, "content-type", "application/json",
			"content-length", "3000000"); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually("the attack has begun", 10*time.Second, func() bool { return s.stalled() >= 50 })
	if n := s.inFlight(); n > 0 {
		t.Errorf("%d slots wait for bodies", n)
	}
	if grown := s.heap() - before; grown > 80<<20 {
		t.Errorf("50 bodies of 3 MB that have not come take %d MB", grown>>20)
	}
	s.eventually("nothing waits", 15*time.Second, func() bool { return s.inFlight() == 0 && s.stalled() == 0 })

	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n{", path, token)
	code, body, err := s.ask(head, 20*time.Second)
	if err != nil || code != http.StatusGatewayTimeout {
		t.Errorf("%d %q, %v", code, body, err)
	}
}

// Half a body at the time of a shutdown. The attacker would make each restart of
// the server last a request's time.
func TestHalfBodiesDoNotDelayShutdown(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := start(t)
	token := s.writer()
	for _, credentials := range []string{"Authorization: Bearer " + token + "\r\n", "Authorization: Bearer wrong\r\n",
		""} {
		c := s.connect("http/1.1")
		fmt.Fprintf(c, "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", credentials)
	}
	s.eventually("a body is waited for", 10*time.Second, func() bool { return s.stalled() > 0 })
	begun := time.Now()
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("the shutdown took %v", took)
	}
}

// As many streams as a connection takes. The attacker would get a thousand
// requests going for the price of a connection.
func TestStreamsPerConnection(t *testing.T) {
	s := start(t, "--http2-max-streams-per-connection=0")
	if n, err := s.streams(0).settings(); err != nil || n != 100 {
		t.Errorf("a connection takes %d streams, %v", n, err)
	}
}

// A path of a megabyte that is not allowed. The attacker would have the server
// send, and its log and audit hold, what they sent, several times.
func TestRefusalsAreShort(t *testing.T) {
	s := start(t)
	long := strings.Repeat("a", 800<<10)
	for _, path := range []string{"/" + long, "/api/v1/namespaces/" + long + "/pods", "/apis/" + long + "/v1/things",
		"/api/v1/" + long, "/api/v1/pods/" + long} {
		code, body, err := s.ask("GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n", 10*time.Second)
		if err != nil || code != http.StatusForbidden && code != http.StatusUnauthorized || len(body) > 16<<10 {
			t.Errorf("%s…: %d with %d bytes, %v", path[:20], code, len(body), err)
		}
	}
}
