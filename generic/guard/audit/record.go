package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

const (
	// maxUserAgent is how many bytes of the User-Agent are recorded.
	maxUserAgent = 1024
	cutUserAgent = "...TRUNCATED"
	// maxAnnotations limits the bytes of all annotations of a request.
	maxAnnotations = 256 << 10
)

// MaxObject is the size in bytes of the largest recorded object. Events without a larger one have the
// annotation TruncatedAnnotation.
const (
	MaxObject           = 10 << 20
	TruncatedAnnotation = "audit.k8s.io/truncated"
)

// Record collects the events of one request. Its methods are safe for concurrent use and do nothing on a nil
// Record.
type Record struct {
	auditor *Auditor

	mu          sync.Mutex
	decision    Decision
	event       Event
	ref         ObjectReference
	annotated   int // bytes
	longRunning bool
	began       bool // the response has begun
	ended       bool
}

// Request describes a request when its record is opened.
type Request struct {
	ID       string
	HTTP     *http.Request
	Received time.Time
	// Attributes are not retained. Their user is nil if authentication failed.
	Attributes *authorizer.Attributes
	// LongRunning requests emit ResponseStarted.
	LongRunning bool
}

// Open applies the policy and emits RequestReceived. audited is false if the request is not recorded: then the
// record must be dropped. stored is false if the event was not stored: then the request must be rejected.
func (r *Record) Open(q *Request) (audited, stored bool) {
	if !r.describe(q) {
		return false, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if stored = r.emit(StageRequestReceived); !stored {
		r.ended = true
		if m := r.auditor.metrics; m != nil {
			m.Rejected.Inc()
		}
	}
	return true, stored
}

// OpenUnauthenticated is Open for a request whose authentication failed. Its only event is emitted with the
// response.
func (r *Record) OpenUnauthenticated(q *Request) (audited bool) {
	if !r.describe(q) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.longRunning, r.event.Annotations = true, nil
	return true
}

// describe fills in the event. It returns false if the policy does not record the request.
func (r *Record) describe(q *Request) bool {
	a := q.Attributes
	decision := r.auditor.policy.Decide(a)
	if m := r.auditor.metrics; m != nil {
		m.Level(string(decision.Level))
	}
	if decision.Level == LevelNone {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decision, r.longRunning = decision, q.LongRunning
	e := &r.event
	e.Level, e.AuditID = decision.Level, types.UID(q.ID)
	e.RequestURI, e.Verb = q.HTTP.URL.RequestURI(), a.Verb
	e.UserAgent = q.HTTP.UserAgent()
	if len(e.UserAgent) > maxUserAgent {
		e.UserAgent = e.UserAgent[:maxUserAgent] + cutUserAgent
	}
	for _, ip := range utilnet.SourceIPs(q.HTTP) {
		e.SourceIPs = append(e.SourceIPs, ip.String())
	}
	if a.User != nil {
		e.User = a.User.UserInfo()
	}
	if a.ResourceRequest {
		r.ref = ObjectReference{Resource: a.Resource, Namespace: a.Namespace, Name: a.Name,
			APIGroup: a.APIGroup, APIVersion: a.APIVersion, Subresource: a.Subresource}
		e.ObjectRef = &r.ref
	}
	e.RequestReceivedTimestamp = metav1.NewMicroTime(q.Received)
	return true
}

// Annotate adds an annotation. It keeps the first value of a key. It drops annotations beyond the size limit.
func (r *Record) Annotate(key, value string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.annotate(key, value)
}

func (r *Record) annotate(key, value string) {
	if r.ended {
		return
	}
	if before, there := r.event.Annotations[key]; there {
		if before != value {
			klog.InfoS("Skipped audit annotation, the key is already set", "auditID", r.event.AuditID, "key", key)
		}
		return
	}
	size := len(key) + len(value)
	if r.annotated+size > maxAnnotations {
		klog.InfoS("Skipped audit annotation, the limit for all annotations is reached", "auditID", r.event.AuditID, "key",
			key)
		return
	}
	r.annotated += size
	if r.event.Annotations == nil {
		r.event.Annotations = map[string]string{}
	}
	r.event.Annotations[key] = value
}

// Impersonates records the impersonated user. constraint is the verb that allowed a constrained impersonation,
// or "".
func (r *Record) Impersonates(u *user.Info, constraint string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	info := u.UserInfo()
	r.event.ImpersonatedUser = &info
	if constraint != "" {
		r.event.AuthenticationMetadata = &AuthenticationMetadata{ImpersonationConstraint: constraint}
	}
}

// Records reports whether the record includes a level, so that callers compute only what is recorded.
func (r *Record) Records(l Level) bool {
	return r != nil && slices.Index(levels, r.decision.Level) >= slices.Index(levels, l)
}

// Names completes the object reference with the metadata of the request's object.
func (r *Record) Names(m metav1.Object) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.event.ObjectRef == nil {
		return
	}
	if r.ref.Name == "" {
		r.ref.Name = m.GetName()
	}
	if r.ref.Namespace == "" {
		r.ref.Namespace = m.GetNamespace()
	}
	if r.ref.UID == "" {
		r.ref.UID = m.GetUID()
	}
	if r.ref.ResourceVersion == "" {
		r.ref.ResourceVersion = m.GetResourceVersion()
	}
}

// RequestObject records the request body, at level Request and above. A doc that is not JSON is dropped. doc is
// retained and must not be changed.
func (r *Record) RequestObject(doc []byte) {
	if r.Records(LevelRequest) && json.Valid(doc) {
		r.object(&r.event.RequestObject, doc)
	}
}

// ResponseObject records the response body, which is JSON, at level RequestResponse. doc is retained and must
// not be changed.
func (r *Record) ResponseObject(doc []byte) {
	if r.Records(LevelRequestResponse) {
		r.object(&r.event.ResponseObject, doc)
	}
}

func (r *Record) object(to *json.RawMessage, doc []byte) {
	large := len(doc) > MaxObject
	if r.decision.OmitManagedFields && !large {
		doc = dropManagedFields(doc)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
	case large:
		r.annotate(TruncatedAnnotation, "true")
	default:
		*to = doc
	}
}

// ResponseStatus records the Status of a response.
func (r *Record) ResponseStatus(s *metav1.Status) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.event.ResponseStatus = &metav1.Status{Status: s.Status, Message: s.Message, Reason: s.Reason, Details: s.Details,
		Code: s.Code}
	if r.decision.Level != LevelRequestResponse {
		return
	}
	whole := *s
	whole.Kind, whole.APIVersion = "Status", "v1"
	if doc, err := json.Marshal(&whole); err == nil {
		r.event.ResponseObject = doc
	}
}

// Responds records that the response has begun.
func (r *Record) Responds(code int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began || r.ended {
		return
	}
	r.began = true
	if r.event.ResponseStatus == nil {
		r.event.ResponseStatus = &metav1.Status{}
	}
	r.event.ResponseStatus.Code = int32(code)
	if r.longRunning {
		r.emit(StageResponseStarted)
	}
}

// Complete emits the last event. Later calls of methods do nothing.
func (r *Record) Complete() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if !r.began {
		// The handler wrote no response, for example because the client closed the connection.
		r.event.ResponseStatus = &metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess,
			Message: "Connection closed early"}
		if r.longRunning {
			r.emit(StageResponseStarted)
		}
	}
	r.emit(StageResponseComplete)
	r.ended = true
}

// Panicked emits the last event of a request whose handler panicked.
func (r *Record) Panicked(cause any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.event.ResponseStatus = &metav1.Status{Code: http.StatusInternalServerError, Status: metav1.StatusFailure,
		Reason: metav1.StatusReasonInternalError, Message: fmt.Sprintf("APIServer panic'd: %v", cause)}
	r.emit(StagePanic)
	r.ended = true
}

// emit sends an event unless the policy omits its stage. The last event is r.event itself, which no longer
// changes; earlier ones are copies.
func (r *Record) emit(s Stage) bool {
	if r.decision.Omits(s) {
		return true
	}
	e := &r.event
	if s != StageResponseComplete && s != StagePanic {
		e = r.snapshot()
	}
	e.Stage, e.StageTimestamp = s, metav1.NewMicroTime(time.Now())
	if m := r.auditor.metrics; m != nil {
		m.Events.Inc()
	}
	return r.auditor.backend.Process(e)
}

// snapshot returns a copy of the event that shares no memory that changes later.
func (r *Record) snapshot() *Event {
	e := r.event
	e.Annotations = maps.Clone(e.Annotations)
	if e.ObjectRef != nil {
		ref := r.ref
		e.ObjectRef = &ref
	}
	if e.ResponseStatus != nil {
		status := *e.ResponseStatus
		e.ResponseStatus = &status
	}
	return &e
}
