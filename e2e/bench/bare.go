package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"triplane.dev/e2e/harness"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/internal/freeport"
)

// bareName is the limit: a server of net/http that answers with prepared bytes, and makes one transaction of an etcd in
// its process for each write. It decides nothing.
const bareName = "bare net/http, embedded etcd"

// replies are the answers of a server to the requests of the phases, by replyKey. It is safe for concurrent use.
type replies struct {
	mu sync.Mutex
	of map[string]reply
}

type reply struct {
	Status      int
	ContentType string
	Body        []byte
}

// replyKey is the same for all objects of a phase.
func replyKey(method, uri, accept string) string {
	path, query, _ := strings.Cut(uri, "?")
	dir, last := filepath.Split(path)
	if len(last) == len("o000000") && strings.Trim(last[1:], "0123456789") == "" {
		last = last[:1]
	}
	if strings.Contains(query, "watch=true") {
		query = "watch"
	}
	return method + " " + dir + last + "?" + query + " " + accept
}

// record keeps the last answer of each key.
func (r *replies) record(req *http.Request, resp *http.Response, body []byte) {
	key := replyKey(req.Method, req.URL.RequestURI(), req.Header.Get("Accept"))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[key] = reply{resp.StatusCode, resp.Header.Get("Content-Type"), body}
}

// startBare records the answers of a Triplane to all phases, and starts the bare server with them.
func startBare(p harness.Programs, dir string) (*target, error) {
	recorded := &target{}
	defer recorded.close()
	data := filepath.Join(dir, "recorded")
	if err := recorded.triplane(p, data, "", false); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "replies.json")
	if err := recordReplies(recorded, file); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	port, err := freeport.Take()
	if err != nil {
		return nil, err
	}
	t := &target{url: fmt.Sprintf("https://127.0.0.1:%d", port), tls: recorded.tls, dir: dir}
	recorded.close()
	if err := t.run(self, true, "-bare", dir, "-bare-port", strconv.Itoa(port)); err != nil {
		return t, err
	}
	return t, t.wait(t.probe)
}

func recordReplies(t *target, file string) error {
	all := &replies{of: map[string]reply{}}
	for _, r := range []resource{configMaps, pods} {
		b := newBench(t)
		b.loader.replies = all
		err := b.setUp(r)
		for _, p := range phases() {
			if err == nil && (p.applies == nil || p.applies(r)) {
				_, err = p.run(b, r)
			}
		}
		b.loader.close()
		if err != nil {
			return err
		}
	}
	text, err := json.Marshal(all.of)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// bare is the bare server.
type bare struct {
	of      map[string]reply
	store   *embedded.Backend
	created atomic.Int64
	at      sync.Map // revisions of keys

	mu       sync.Mutex
	watchers map[chan struct{}]bool
}

// serveBare serves what startBare has recorded in a directory, until it gets an interrupt.
func serveBare(dir string, port int) error {
	s := &bare{of: map[string]reply{
		replyKey("GET", "/readyz", ""): {Status: http.StatusOK, ContentType: "text/plain", Body: []byte("ok")},
	}, watchers: map[chan struct{}]bool{}}
	text, err := os.ReadFile(filepath.Join(dir, "replies.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &s.of); err != nil {
		return err
	}
	etcd, err := embedded.Start(context.Background(), embedded.Config{Dir: filepath.Join(dir, "store")})
	if err != nil {
		return err
	}
	s.store = etcd.Backend()
	in := func(name string) string { return filepath.Join(dir, "recorded", "pki", name) }
	server := &http.Server{Addr: fmt.Sprintf("127.0.0.1:%d", port), Handler: s, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	return errors.Join(server.ListenAndServeTLS(in("apiserver.crt"), in("apiserver.key")), etcd.Close())
}

func (s *bare) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	key := replyKey(req.Method, req.URL.RequestURI(), req.Header.Get("Accept"))
	r, ok := s.of[key]
	if !ok {
		http.Error(w, "there is no reply to "+key, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", r.ContentType)
	if strings.Contains(key, "?watch ") {
		s.watch(w, req, r)
		return
	}
	if req.Method != http.MethodGet {
		if err := s.write(req); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // a client that has left
}

// write makes the transaction of a write. The nth object that is created gets the nth name.
func (s *bare) write(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	key := "/bare" + req.URL.Path
	if req.Method == http.MethodPost {
		key += "/" + name("o", int(s.created.Add(1))-1)
	}
	at, known := s.at.Load(key)
	var revision int64
	switch {
	case !known:
		revision, err = s.store.Create(req.Context(), key, body, 0)
	case req.Method == http.MethodDelete:
		_, err = s.store.Delete(req.Context(), key, at.(int64))
		s.at.Delete(key)
		return err
	default:
		revision, err = s.store.Update(req.Context(), key, body, at.(int64), 0)
	}
	if err != nil {
		return err
	}
	s.at.Store(key, revision)
	if req.Method == http.MethodPatch {
		s.tell()
	}
	return nil
}

// tell sends an event to all watchers.
func (s *bare) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.watchers {
		c <- struct{}{}
	}
}

func (s *bare) watch(w http.ResponseWriter, req *http.Request, r reply) {
	events, flush := make(chan struct{}, 1000), http.NewResponseController(w).Flush
	s.mu.Lock()
	s.watchers[events] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, events)
	}()
	for err := flush(); err == nil; {
		select {
		case <-req.Context().Done():
			return
		case <-events:
		}
		if _, err = w.Write(r.Body); err == nil {
			err = flush()
		}
	}
}
