package openapi

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/base/request"
)

// retryAfter is how long a document is kept that lacks the part of a source
// which failed.
const retryAfter = time.Minute

// swagger is the one document of /openapi/v2, kept until something changes. Its
// lock is held while it is built.
type swagger struct {
	lock    request.Lock
	doc     *document
	changes uint64    // of the service, when it was built
	until   time.Time // zero for no end
}

// documentV2 returns the one document of /openapi/v2.
func (s *Service) documentV2(ctx context.Context) (*document, error) {
	v2 := &s.v2
	if err := v2.lock.Lock(ctx); err != nil {
		return nil, err
	}
	defer v2.lock.Unlock()
	s.mu.Lock()
	changes, services := s.changes, s.webServices()
	s.mu.Unlock()
	if v2.doc != nil && v2.changes == changes && (v2.until.IsZero() || time.Now().Before(v2.until)) {
		return v2.doc, nil
	}
	d, complete, err := s.buildV2(services)
	if err != nil {
		return nil, err
	}
	v2.doc, v2.changes, v2.until = d, changes, time.Time{}
	if !complete {
		v2.until = time.Now().Add(retryAfter)
	}
	return d, nil
}

// buildV2 joins the routes and the sources. It skips invalid sources, so that the document of the others remains;
// complete reports whether there was none.
func (s *Service) buildV2(services []WebService) (_ *document, complete bool, _ error) {
	d := newDraft(true)
	if err := s.builder.write(d, services, everyVersion); err != nil {
		return nil, false, err
	}
	d.settled = true
	complete = true
	for _, e := range s.entries() {
		if e.source == nil {
			continue
		}
		if err := e.source.V2(d); err != nil {
			klog.ErrorS(err, "A part of the OpenAPI v2 document is missing", "path", e.path)
			complete = false
		}
	}
	return d.finish(""), complete, nil
}
