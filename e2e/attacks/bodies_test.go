package attacks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// A JSON patch of many operations, and one whose copies double the object. The
// attacker, who may patch anything, would make gigabytes of kilobytes.
func patchOfCopies(_ *testing.T, s *target) {
	s.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: patched, namespace: default}\ndata: {k: " + strings.Repeat("v", 1000) + "}\n")
	const path, kind = "/api/v1/namespaces/default/configmaps/patched", "application/json-patch+json"
	many := strings.Repeat(`{"op":"add","path":"/data/x","value":"y"},`, 10001)
	s.as("mallory").refused(413, "", "PATCH", path, "["+strings.TrimSuffix(many, ",")+"]", "Content-Type", kind)
	doubling := `{"op":"add","path":"/metadata/x","value":[1]},` + strings.Repeat(`{"op":"copy","from":"/metadata/x","path":"/metadata/x/-"},`, 60)
	begun := time.Now()
	code, answer := s.as("mallory").do("PATCH", path, "["+strings.TrimSuffix(doubling, ",")+"]", "Content-Type", kind)
	if code < 400 || code >= 500 || len(answer) > 64<<10 || time.Since(begun) > 5*time.Second {
		s.t.Errorf("%d with %d bytes after %v", code, len(answer), time.Since(begun))
	}
}

// A YAML document whose references multiply. The attacker, anonymous where
// discovery takes bodies, would fill processors and memory with a kilobyte.
func billionLaughs(_ *testing.T, s *target) {
	var doc strings.Builder
	doc.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: laughs}\ndata:\n  a: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n")
	for c := 'b'; c < 'm'; c++ {
		before := "*" + string(c-1)
		doc.WriteString("  " + string(c) + ": &" + string(c) + " [" + strings.Repeat(before+",", 8) + before + "]\n")
	}
	begun := time.Now()
	code, answer := s.as("mallory").do("POST", "/api/v1/namespaces/default/configmaps", doc.String())
	if code < 400 || code >= 500 || len(answer) > 64<<10 || time.Since(begun) > 5*time.Second {
		s.t.Errorf("%d with %d bytes after %v", code, len(answer), time.Since(begun))
	}
	if rss, err := s.ResidentBytes(); err != nil || rss > 1<<30 {
		s.t.Errorf("the server has %d MB, %v", rss>>20, err)
	}
}

// An object that thousands own. The attacker would have the server compute for
// minutes who owns what, for a request of a megabyte.
func thousandsOfOwners(_ *testing.T, s *target) {
	var owners strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&owners, `,{"manager":"m%d","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k%d":{}}}}`, i, i)
	}
	const path = "/api/v1/namespaces/default/configmaps"
	object := `{"metadata":{"name":"owned"},"data":{"k1":"v"%s}}`
	begun := time.Now()
	managed := `},"metadata":{"name":"owned","managedFields":[` + owners.String()[1:] + `]`
	for method, at := range map[string]string{"POST": path + "?dryRun=All", "PUT": path + "/owned"} {
		if method == "PUT" {
			s.as("").do("POST", path, fmt.Sprintf(object, ""), "Content-Type", "application/json")
		}
		if code, answer := s.as("mallory").do(method, at, fmt.Sprintf(object, managed), "Content-Type",
			"application/json"); code >= 500 || len(answer) > 1<<20 {
			s.t.Errorf("%s: %d with %d bytes", method, code, len(answer))
		}
	}
	if took := time.Since(begun); took > 20*time.Second {
		s.t.Errorf("it took %v", took)
	}
}

// Documents that take a parser long, for what they are: brackets that are opened and
// not closed, indicators in a row. The attacker would fill processors with kilobytes.
func malformedDocuments(_ *testing.T, s *target) {
	for _, piece := range []string{"{", "[", "? ", "- ", "&a ", "!!str ", "{a: ", `{"a":`, `[[{"a":[`} {
		begun := time.Now()
		code, answer := s.as("mallory").do("POST", "/api/v1/namespaces/default/configmaps",
			strings.Repeat(piece, (1<<20)/len(piece)))
		if code < 400 || code >= 500 || len(answer) > 64<<10 || time.Since(begun) > 10*time.Second {
			s.t.Errorf("%q: %d with %d bytes after %v", piece, code, len(answer), time.Since(begun))
		}
	}
}

// Streams that are reset as soon as they are open. The attacker would have the
// server work on any number of requests at once, for the price of their heads.
func rapidReset(_ *testing.T, s *target) {
	x := s.streams(1 << 16)
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, x.conn) // so that what the server says does not stop it
		stop()
	}()
	for ctx.Err() == nil && x.next < 40000 {
		id := x.next
		if x.open("GET", discovery, true, "authorization", "Bearer wrong") != nil ||
			x.framer.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break // the server has had enough
		}
	}
	if n := s.inFlight(); n > 100 {
		s.t.Errorf("%d requests are answered at once", n)
	}
	code, _, err := s.ask("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 5*time.Second)
	if err != nil || code != http.StatusOK {
		s.t.Errorf("others are answered %d, %v", code, err)
	}
	s.eventually("nothing is left of it", 10*time.Second, func() bool { return s.inFlight() <= 0 })
}

// Names and paths of a megabyte in requests that fail after authorization. The
// attacker would have the server send, log and record them several times over.
func longNames(_ *testing.T, s *target) {
	long := strings.Repeat("a", 600<<10)
	for _, path := range []string{
		"/" + long, "/apis/" + long + "/v1/things", "/apis/apps/" + long, "/api/v1/" + long,
		"/apis/apps/v1/" + long + "/x",
		"/api/v1/namespaces/default/configmaps/" + long, "/api/v1/namespaces/" + long + "/configmaps/x",
		"/api/v1/namespaces/default/pods/x/" + long, "/api/v1/configmaps?labelSelector=" + long + "%2F%2F",
		"/api/v1/configmaps?fieldSelector=" + long,
		"/api/v1/configmaps?resourceVersion=" + long, "/api/v1/configmaps?limit=" + long,
		"/api/v1/configmaps?continue=" + long,
	} {
		if code, answer := s.as("").do("GET", path, ""); code < 400 && !strings.Contains(path, "?limit") ||
			len(answer) > 16<<10 {
			s.t.Errorf("%.60s…: %d with %d bytes", path, code, len(answer))
		}
	}
}
