package responsewriters

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/storage/wire"
)

// StatusOf is the Status that reports an error to a client. Errors that are not
// API statuses are internal errors whose text is the message.
func StatusOf(err error) *metav1.Status {
	if c := (*rest.ConversionError)(nil); errors.As(err, &c) {
		err = c.Err
	}
	if s, ok := err.(apierrors.APIStatus); ok {
		status := s.Status()
		if status.Status == "" {
			status.Status = metav1.StatusFailure
		}
		if status.Code == 0 {
			status.Code = http.StatusInternalServerError
			if status.Status == metav1.StatusSuccess {
				status.Code = http.StatusOK
			}
		}
		status.Kind, status.APIVersion = "Status", "v1"
		return &status
	}
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     http.StatusInternalServerError,
		Message:  err.Error(),
	}
}

// WriteError answers with an error as a Status, in the media type that the client accepts; indented JSON where it
// accepts none of the server's. A Status has a protobuf form, whatever the resource has.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	s := request.StateFrom(r.Context())
	WriteErrorAs(w, r, err, negotiation.Rules{Protobuf: true, CBOR: s != nil && s.CBOR})
}

// WriteError is the function WriteError, with the error of an exceeded deadline.
func (s *Scope) WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() != nil {
		err = request.TimedOut()
	}
	WriteError(w, r, err)
}

// WriteErrorAs is WriteError for an endpoint that serves other media types.
func WriteErrorAs(w http.ResponseWriter, r *http.Request, err error, rules negotiation.Rules) {
	status := StatusOf(err)
	if len(r.URL.Path)+len(r.URL.RawQuery) > longQuestion {
		shorten(status)
	}
	if len(status.Message) > maxMessage {
		status.Message = strings.ToValidUTF8(status.Message[:maxMessage], "") + "..."
	}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	if status.Code == http.StatusNoContent {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeStatus(w, r, status, rules)
}

// longQuestion is the length from which on an error does not repeat what was asked
// for, in bytes of its path and query.
const longQuestion = 4096

// maxMessage is the length of a message in bytes. Errors of decoding name each wrong field of a body, and errors of
// patches have both documents, which is a multiple of what the client sent.
const maxMessage = 256 << 10

// shorten cuts what is in a Status of the names in a long path or query.
func shorten(s *metav1.Status) {
	s.Message = request.Shortened(s.Message)
	if s.Details == nil {
		return
	}
	details := *s.Details // it may be the error's own
	details.Name = request.Shortened(details.Name)
	details.Causes = slices.Clone(details.Causes)
	for i := range details.Causes {
		details.Causes[i].Message = request.Shortened(details.Causes[i].Message)
	}
	s.Details = &details
}

func writeStatus(w http.ResponseWriter, r *http.Request, status *metav1.Status, rules negotiation.Rules) {
	audit.RecordFrom(r.Context()).ResponseStatus(status)
	o, err := negotiation.Negotiate(r, rules)
	if err != nil {
		o = negotiation.Output{MediaType: wire.JSON, Pretty: true}
		if status.Code < http.StatusBadRequest {
			status = StatusOf(err)
		}
	}
	timer := request.Time(r.Context(), request.Serialization)
	b, err := wire.MarshalStatus(status, o.MediaType)
	timer.Stop()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeBody(w, r, int(status.Code), o, b)
}
