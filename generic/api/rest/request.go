package rest

import (
	"context"
	"io"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// ValidateObjectFunc validates an object before it is created or deleted, e.g. by
// validating admission.
type ValidateObjectFunc func(ctx context.Context, obj runtime.Object) error

// ValidateObjectUpdateFunc validates an update.
type ValidateObjectUpdateFunc func(ctx context.Context, obj, old runtime.Object) error

// GetRequest is a get. Nil Options mean the defaults.
type GetRequest struct {
	Name    string
	Options *metav1.GetOptions
	// Query is the decoded object of Resource.NewOptions; Options is nil then.
	Query runtime.Object
}

// CreateRequest is a create. Nil functions and options mean nothing special.
type CreateRequest struct {
	// Name is that of the object, which of a subresource is the name in the path.
	Name     string
	Object   runtime.Object
	Validate ValidateObjectFunc
	Options  *metav1.CreateOptions
}

// UpdateRequest is an update, patch or apply. Nil functions and options mean nothing special.
type UpdateRequest struct {
	Name string
	// Preconditions that the present object must meet.
	Preconditions *metav1.Preconditions
	// Change computes the new object from the present one, which it must not change; it is empty if
	// the object does not exist. Change is called again when writers race.
	Change         func(ctx context.Context, old runtime.Object) (runtime.Object, error)
	ValidateCreate ValidateObjectFunc
	ValidateUpdate ValidateObjectUpdateFunc
	// ForceAllowCreate lets apply create where the kind does not allow create on update.
	ForceAllowCreate bool
	Options          *metav1.UpdateOptions
}

// DeleteRequest is a delete. Nil functions and options mean nothing special.
type DeleteRequest struct {
	Name     string
	Validate ValidateObjectFunc
	// Options have the effective grace period when Validate is called: a kind may change what the client sent.
	Options *metav1.DeleteOptions
}

// DeleteCollectionRequest is a deletecollection. Nil functions and options mean nothing special.
type DeleteCollectionRequest struct {
	Validate ValidateObjectFunc
	Options  *metav1.DeleteOptions
	List     *metainternalversion.ListOptions
}

// ConnectRequest is a request that takes over the connection.
type ConnectRequest struct {
	Name string
	// Query is the decoded object of Resource.NewOptions, nil without it.
	Query     runtime.Object
	Responder Responder
}

// Responder writes the response of a Connect that does not write it itself.
type Responder interface {
	Object(status int, obj runtime.Object)
	Error(err error)
}

// Event is one event of a watch. Object is Stored, a Status for Error, or for a
// Bookmark an empty object of the kind with its resourceVersion (and
// annotations) set.
type Event struct {
	Type   watch.EventType
	Object runtime.Object
}

// EventStream is a running watch. It belongs to one goroutine.
type EventStream interface {
	// Next blocks until there are events and returns those that are available. An API
	// status error ends the stream and reaches the client as an Error event;
	// ctx.Err() and io.EOF end it silently.
	Next(ctx context.Context) ([]Event, error)
	// Notify makes the stream call wake whenever Next may have something to return, see storage.Watch.
	Notify(wake func())
	// Initializing reports whether Next still has initial events to return.
	Initializing() bool
	Stop()
}

// Streamer is what Get may return instead of an object: bytes of another kind,
// as a pod's log.
type Streamer interface {
	runtime.Object
	// InputStream opens the bytes. flush asks to send each piece at once; a nil
	// stream is answered 204.
	InputStream(ctx context.Context, apiVersion,
		accept string) (stream io.ReadCloser, flush bool, contentType string, err error)
}
