package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

const clients = 16

// request is one operation of the load.
type request struct {
	method, path string
	contentType  string
	accept       string
	body         []byte
	want         int    // status
	user         string // impersonated, unless ""
	gzip         bool   // the answer may be compressed
	until        string // path that must answer 200 before the operation is over, unless ""
}

// statusError is an answer that was not wanted.
type statusError struct {
	request request
	code    int
	body    []byte
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s %s: %d\n%s", e.request.method, e.request.path, e.code, e.body)
}

// measured is what a phase cost.
type measured struct {
	ops      int
	elapsed  time.Duration
	cpu      time.Duration
	p50, p99 time.Duration
	bytes    int64
}

func (m measured) median() time.Duration { return m.p50 }

func (m measured) slow() time.Duration { return m.p99 }

// loader sends requests to one server.
type loader struct {
	url     string
	clients []*http.Client
	// urls are the servers of clients that ask another one.
	urls map[*http.Client]string
	// replies records all answers, unless it is nil.
	replies *replies
}

func newLoader(url string, config *tls.Config) *loader {
	l := &loader{url: url}
	for range clients {
		l.clients = append(l.clients, &http.Client{Transport: &http2.Transport{TLSClientConfig: config.Clone(),
			DisableCompression: true}})
	}
	return l
}

func (l *loader) close() {
	for _, c := range l.clients {
		c.CloseIdleConnections()
	}
}

// run sends n requests from all clients and measures them; pids are the
// server's processes.
func (l *loader) run(n int, pids []int, next func(i int) request) (measured, error) {
	latencies := make([]time.Duration, n)
	var sent, total atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var failure error
	before, start := cpuTime(pids), time.Now()
	for _, c := range l.clients {
		wg.Go(func() {
			for {
				i := int(sent.Add(1)) - 1
				if i >= n {
					return
				}
				t := time.Now()
				size, err := l.complete(c, next(i))
				latencies[i] = time.Since(t)
				total.Add(size)
				if err != nil {
					once.Do(func() { failure = err })
					return
				}
			}
		})
	}
	wg.Wait()
	m := measured{ops: n, elapsed: time.Since(start), cpu: cpuTime(pids) - before, bytes: total.Load()}
	slices.Sort(latencies)
	m.p50, m.p99 = latencies[n/2], latencies[n*99/100]
	return m, failure
}

// complete sends one request, and waits for what it brings into being.
func (l *loader) complete(c *http.Client, r request) (int64, error) {
	size, err := l.send(c, r)
	for deadline := time.Now().Add(time.Minute); err == nil && r.until != ""; time.Sleep(5 * time.Millisecond) {
		_, seen := l.send(c, request{method: "GET", path: r.until, want: http.StatusOK})
		if seen == nil || time.Now().After(deadline) {
			return size, seen
		}
	}
	return size, err
}

// send sends one request and reads the answer, and returns its size.
func (l *loader) send(c *http.Client, r request) (int64, error) {
	url := l.url
	if other, ok := l.urls[c]; ok {
		url = other
	}
	req, err := http.NewRequest(r.method, url+r.path, bytes.NewReader(r.body))
	if err != nil {
		return 0, err
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.accept == "" {
		r.accept = "application/json"
	}
	req.Header.Set("Accept", r.accept)
	req.Header.Set("User-Agent", "bench")
	if r.gzip {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	if r.user != "" {
		req.Header.Set("Impersonate-User", r.user)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != r.want {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return 0, &statusError{request: r, code: resp.StatusCode, body: b}
	}
	return l.read(req, resp)
}

// read reads an answer and returns its size.
func (l *loader) read(req *http.Request, resp *http.Response) (int64, error) {
	if l.replies == nil {
		return io.Copy(io.Discard, resp.Body)
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		l.replies.record(req, resp, body)
	}
	return int64(len(body)), err
}
