package attacks

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"triplane.dev/generic/base/egress/egresstest"
)

// upstream is a pod of the attacker's, which speaks HTTP as badly as it likes.
type upstream struct {
	net.Listener
	answers map[string]string // by the end of the path, as they are sent
	ended   chan struct{}     // receives when an endless answer has ended

	mu   sync.Mutex
	seen []*http.Request
}

func listenRaw(t *testing.T, answers map[string]string) *upstream {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{Listener: l, answers: answers, ended: make(chan struct{}, 1)}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { u.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return u
}

// serve answers the requests of a connection, the second one as the first.
func (u *upstream) serve(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(generous)) // reads fail otherwise
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		u.mu.Lock()
		u.seen = append(u.seen, r)
		u.mu.Unlock()
		name := strings.Trim(r.URL.Path, "/")
		if name == "endless" {
			u.flood(c)
			return
		}
		answer, ok := u.answers[name]
		if !ok {
			answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
		}
		if _, err := io.WriteString(c, answer); err != nil || strings.HasPrefix(name, "bad-") {
			return
		}
	}
}

func (u *upstream) flood(c net.Conn) {
	_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	for piece := strings.Repeat("x", 1<<16); err == nil; {
		_, err = io.WriteString(c, piece)
	}
	u.ended <- struct{}{}
}

// last is the last request that came, and how many there were.
func (u *upstream) last() (*http.Request, int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.seen) == 0 {
		return nil, 0
	}
	return u.seen[len(u.seen)-1], len(u.seen)
}

const (
	behind = pods + "/behind:80/proxy/"
	podIP  = "192.0.2.7"
)

// TestProxiedPods has a pod of the attacker's behind an egress proxy, to which the
// whole cluster seems to be that pod.
func TestProxiedPods(t *testing.T) {
	u := listenRaw(t, map[string]string{
		"redirect": "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.9/internal\r\nContent-Length: 0\r\n\r\n",
		"upgrade":  "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
		"moved":    "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.9/internal\r\nContent-Length: 0\r\n\r\n",
		"sites":    "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Allow-Credentials: true\r\nContent-Length: 2\r\n\r\nok",
		// What is no HTTP.
		"bad-garbage": "\x00\xff\x00\xff\r\n\r\n",
		"bad-code":    "HTTP/1.1 99999999999 OK\r\n\r\n",
		"bad-length":  "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx",
		"bad-lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 9\r\n\r\nx",
		"bad-header":  "HTTP/1.1 200 OK\r\nX-A\x00: b\r\n\r\n",
		"bad-fold":    "HTTP/1.1 200 OK\r\n X: y\r\n\r\n",
		"bad-long":    "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 12<<20) + "\r\n\r\n",
		"bad-nothing": "",
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := egresstest.HTTPConnect(t, l)
	proxy.Route = func(string) string { return u.Addr().String() }
	file := filepath.Join(t.TempDir(), "egress.yaml")
	text := fmt.Sprintf("apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\n"+
		"egressSelections: [{name: cluster, connection: {proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://%s'}}}}]\n", l.Addr())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--egress-selector-config-file="+file)
	token := s.writer()
	s.apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: default}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: behind, namespace: default}\nspec: {nodeName: evil, containers: [{name: c, image: i}]}\n")
	s.at(podIP)
	for _, a := range []struct {
		name  string
		tried func(*testing.T, *target, *upstream, string)
	}{
		{"credentials", forwardedCredentials},
		{"paths that become headers", pathsAsHeaders},
		{"redirects", redirectedProxy},
		{"upgrades that failed", failedProxyUpgrade},
		{"web sites", proxiedSites},
		{"answers that are no HTTP", malformedAnswers},
		{"answers without an end", endlessAnswers},
		{"other addresses", otherAddresses},
	} {
		t.Run(a.name, func(t *testing.T) {
			attacked := *s
			attacked.t = t
			a.tried(t, &attacked, u, token)
		})
	}
	for _, address := range proxy.Addresses() {
		if address != podIP+":80" {
			t.Errorf("the egress proxy was asked for %s", address)
		}
	}
	for _, ip := range []string{"127.0.0.1", "169.254.169.254", "::1"} {
		s.at(ip)
		s.as("").refused(400, "address not allowed", "GET", behind, "")
	}
}

// at has the pod report an address.
func (s *target) at(ip string) {
	s.t.Helper()
	if code, answer := s.as("").do("PATCH", pods+"/behind/status",
		`{"status":{"podIP":"`+ip+`","podIPs":[{"ip":"`+ip+`"}]}}`); code != http.StatusOK {
		s.t.Fatal(code, answer)
	}
}

// proxied sends a request to the pod.
func (s *target) proxied(path, token, headers string) (code int, body string) {
	s.t.Helper()
	code, body, err := s.ask("GET "+behind+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\n"+headers+"Connection: close\r\n\r\n", generous)
	if err != nil {
		s.t.Fatal(path, err)
	}
	return code, body
}

// Users of the proxy of pods send their credentials to it. The attacker, whose pod
// it is, would be those users.
func forwardedCredentials(t *testing.T, s *target, u *upstream, token string) {
	if code, body := s.proxied("x", token, "X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\nX-Remote-Extra-A: b\r\n"); code != http.StatusOK {
		t.Fatal(code, body)
	}
	r, _ := u.last()
	for name, values := range r.Header {
		if name == "Authorization" || strings.HasPrefix(name, "X-Remote-") ||
			strings.Contains(strings.Join(values, ","), token) {
			t.Errorf("the pod sees %s: %.100q", name, values)
		}
	}
	c := s.connect("http/1.1")
	_ = c.SetDeadline(time.Now().Add(generous)) // the read fails otherwise
	fmt.Fprintf(c, "GET %supgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.%s, chat\r\n\r\n", behind, base64.RawURLEncoding.EncodeToString([]byte(token)))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // the answer is not what is looked at
	if r, _ := u.last(); r.Header.Get("Sec-Websocket-Protocol") != "chat" {
		t.Errorf("the pod sees the protocols %.100q", r.Header["Sec-Websocket-Protocol"])
	}
}

// Encoded ends of lines in a path. The attacker would add headers to requests that
// the server makes.
func pathsAsHeaders(t *testing.T, s *target, u *upstream, token string) {
	for _, path := range []string{"a%0d%0aX-Injected:%20y", "a%0d%0a%0d%0aGET%20/smuggled%20HTTP/1.1%0d%0a",
		"a%20HTTP/1.1%0aX-Injected:y", "?q=a%0d%0aX-Injected:%20y"} {
		_, before := u.last()
		s.proxied(path, token, "")
		r, n := u.last()
		if n > before+1 || r.Header.Get("X-Injected") != "" {
			t.Errorf("%s: the pod sees %d requests, the last with %v", path, n-before, r.Header)
		}
	}
}

// The pod sends the server elsewhere. The attacker would have it ask what the
// attacker cannot reach; TestProxiedPods sees whom it asked.
func redirectedProxy(t *testing.T, s *target, u *upstream, token string) {
	_, before := u.last()
	if code, body := s.proxied("redirect", token, ""); code != http.StatusFound {
		t.Errorf("%d %s", code, body)
	}
	if _, n := u.last(); n != before+1 {
		t.Errorf("the pod was asked %d times", n-before)
	}
}

// The pod refuses an upgrade, and the client goes on to speak on the connection
// (CVE-2018-1002105), or redirects it (CVE-2020-8559). The attacker would speak to
// what is behind the proxy past all checks of requests.
func failedProxyUpgrade(t *testing.T, s *target, u *upstream, token string) {
	for _, path := range []string{"upgrade", "moved"} {
		_, before := u.last()
		c := s.connect("http/1.1")
		_ = c.SetDeadline(time.Now().Add(generous)) // the reads fail otherwise
		fmt.Fprintf(c, "GET %s%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", behind, path, token)
		in := bufio.NewReader(c)
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode < 400 {
			t.Fatal(resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		_, _ = io.WriteString(c, "GET /smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		_, _ = io.Copy(io.Discard, in) // until the connection ends
		if r, n := u.last(); n != before+1 {
			t.Errorf("%s: the pod was asked %d times, for %s", path, n-before, r.URL)
		}
	}
}

// The pod allows web sites to read its answers, which come from the server's own
// address. The attacker would let any site use the server in the name of who visits it.
func proxiedSites(t *testing.T, s *target, _ *upstream, token string) {
	c := s.connect("http/1.1")
	_ = c.SetDeadline(time.Now().Add(generous)) // the read fails otherwise
	fmt.Fprintf(c, "GET %ssites HTTP/1.1\r\nHost: x\r\nOrigin: https://site.example\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", behind, token)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	defer func() { _ = resp.Body.Close() }()
	for name, values := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s: %s", name, values)
		}
	}
}

// Answers that are no HTTP. The attacker would end the server, or fill its memory.
func malformedAnswers(t *testing.T, s *target, u *upstream, token string) {
	for name := range u.answers {
		if !strings.HasPrefix(name, "bad-") {
			continue
		}
		if code, body := s.proxied(name, token, ""); code < 500 || len(body) > 64<<10 {
			t.Errorf("%s: %d with %d bytes", name, code, len(body))
		}
	}
	if rss, err := s.ResidentBytes(); err != nil || rss > 1<<30 {
		t.Errorf("the server has %d MB, %v", rss>>20, err)
	}
}

// An answer without an end, which the client has had enough of. The attacker would
// keep the server reading for nobody.
func endlessAnswers(t *testing.T, s *target, u *upstream, token string) {
	c := s.connect("http/1.1")
	fmt.Fprintf(c, "GET %sendless HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", behind, token)
	if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	select {
	case <-u.ended:
	case <-time.After(generous):
		t.Error("the server still reads")
	}
	s.eventually("nothing is in flight", generous, func() bool { return s.inFlight() <= 0 })
}

// Names of pods and ports that are more than such. The attacker would have the
// server connect to addresses of the attacker's choice; TestProxiedPods sees to which.
func otherAddresses(t *testing.T, s *target, u *upstream, token string) {
	_, before := u.last()
	for _, id := range []string{
		"behind:80@127.0.0.1:2379", "behind:80%40127.0.0.1", "behind:80%2F..%2F", "http:behind:80:81", "ftp:behind:80",
		"behind:80%0d%0aX", "behind:%2380", "behind:80%3fx", "@127.0.0.1:80", "behind:127.0.0.1:80",
	} {
		code, body, err := s.ask("GET "+pods+"/"+id+"/proxy/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\nConnection: close\r\n\r\n", generous)
		if err != nil || code < 400 || code >= 500 {
			t.Errorf("%s: %d %s, %v", id, code, body, err)
		}
	}
	if r, n := u.last(); n != before {
		t.Errorf("the pod was asked for %s", r.URL)
	}
}
