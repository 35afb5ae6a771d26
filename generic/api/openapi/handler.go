package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"github.com/munnerz/goautoneg"
	"google.golang.org/protobuf/proto"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/base/request"
)

const (
	protoV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	protoV3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
)

// V2Handler answers /openapi/v2.
func (s *Service) V2Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := s.documentV2(r.Context())
		if err != nil {
			fail(w, r, err)
			return
		}
		serve(w, r, d, protoV2, protoFromV2)
	})
}

// V3Handler answers /openapi/v3, the index, and all below it.
func (s *Service) V3Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi/v3" {
			s.serveIndex(w, r)
			return
		}
		path := strings.TrimPrefix(r.URL.Path, "/openapi/v3/")
		var d *document
		var err error
		if e := s.entry(path); e != nil {
			d, err = e.document(r.Context())
		}
		switch {
		case err != nil:
			fail(w, r, err)
		case d == nil:
			w.WriteHeader(http.StatusNotFound)
		default:
			accepted := negotiate(r.Header.Get("Accept"), protoV3)
			if hash := r.URL.Query().Get("hash"); hash != "" && accepted != "" {
				if hash != d.hash {
					w.Header().Set("Content-Type", accepted) // which has the redirect no body
					u := *r.URL
					q := u.Query()
					q.Set("hash", d.hash)
					u.RawQuery = q.Encode()
					http.Redirect(w, r, u.String(), http.StatusMovedPermanently)
					return
				}
				w.Header().Set("Cache-Control", "public, immutable")
			}
			serve(w, r, d, protoV3, protoFromV3)
		}
	})
}

// serveIndex lists where each document is, with its hash, so that clients can
// keep documents without limit.
func (s *Service) serveIndex(w http.ResponseWriter, r *http.Request) {
	type item struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	index := struct {
		Paths map[string]item `json:"paths"`
	}{Paths: map[string]item{}}
	for _, e := range s.entries() {
		hash, err := e.currentHash(r.Context())
		if err != nil {
			fail(w, r, err)
			return
		}
		if hash == "" {
			continue // a broken document must not hide the others
		}
		index.Paths[e.path] = item{"/openapi/v3/" + e.path + "?hash=" + hash}
	}
	data, err := json.Marshal(index)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(data)
}

// fail responds to a request whose document could not be built, or that must not wait any more for another request,
// which builds it.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusInternalServerError
	if errors.Is(err, context.Canceled) || r.Context().Err() != nil {
		w.Header().Set("Retry-After", "1")
		code = http.StatusServiceUnavailable
	}
	http.Error(w, err.Error(), code)
}

// serve writes a document as JSON or protobuf, whichever the client prefers.
func serve(w http.ResponseWriter, r *http.Request, d *document, protoType string,
	toProto func([]byte) ([]byte, error)) {
	accepted := negotiate(r.Header.Get("Accept"), protoType)
	if accepted == "" {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	etag := strconv.Quote(d.hash)
	h := w.Header()
	h.Add("Vary", "Accept")
	h.Set("Etag", etag)
	if match := r.Header.Get("If-Match"); match != "" && !hasTag(match, etag, false) {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	if hasTag(r.Header.Get("If-None-Match"), etag, true) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", accepted)
	if accepted == "application/json" && negotiation.AcceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		h.Set("Content-Length", strconv.Itoa(len(d.json.compressed)))
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			w.Write(d.json.compressed)
		}
		return
	}
	text := d.json
	if accepted == protoType {
		var err error
		if text, err = d.protobuf(r.Context(), toProto); err != nil {
			fail(w, r, err)
			return
		}
	}
	h.Set("Content-Length", strconv.Itoa(text.size))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		request.Keeps(r.Context(), unpackerSize)
		_ = text.writeTo(w) // the client has gone
	}
}

// hasTag reports whether a list of entity tags, or "*", has a tag (RFC 9110, section 13.1). If weak is set, weak tags
// count, which proxies make when they compress a response.
func hasTag(list, tag string, weak bool) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if weak {
			one = strings.TrimPrefix(one, "W/")
		}
		if one == tag || one == "*" {
			return true
		}
	}
	return false
}

// negotiate returns the media type to answer with, "" for none. The deprecated
// spelling with an at sign is understood, the answer has the proper one.
func negotiate(accept, protoType string) string {
	if accept == "" {
		return "application/json"
	}
	at := strings.Replace(protoType, ".v1.0+", "@v1.0+", 1)
	for _, clause := range goautoneg.ParseAccept(accept) {
		switch full := clause.Type + "/" + clause.SubType; {
		case full == protoType || full == at:
			return protoType
		case (clause.Type == "*" || clause.Type == "application") && (clause.SubType == "json" || clause.SubType == "*"):
			return "application/json"
		}
	}
	return ""
}

func protoFromV2(data []byte) ([]byte, error) {
	doc, err := openapi_v2.ParseDocument(data)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(doc)
}

func protoFromV3(data []byte) ([]byte, error) {
	doc, err := openapi_v3.ParseDocument(data)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(doc)
}
