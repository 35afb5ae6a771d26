package filters

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/storage/wire"
)

// statusError is implemented by the errors of k8s.io/apimachinery.
type statusError interface{ Status() metav1.Status }

const (
	mediaJSON     = "application/json"
	mediaYAML     = "application/yaml"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
)

// writeStatus responds with an error in a media type that the client accepts, and in JSON if it accepts none of
// those supported.
func writeStatus(w http.ResponseWriter, r *http.Request, err statusError) {
	status := err.Status()
	audit.RecordFrom(r.Context()).ResponseStatus(&status)
	status.Kind, status.APIVersion = "Status", "v1"
	media := acceptedMedia(r.Header.Get("Accept"))
	body, encodeErr := encodeStatus(&status, media, wantsPretty(r))
	if encodeErr != nil {
		http.Error(w, encodeErr.Error(), http.StatusInternalServerError)
		return
	}
	code := int(status.Code)
	if code == 0 {
		code = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(code)
	_, _ = w.Write(body) // fails only on closed connections
}

func encodeStatus(s *metav1.Status, media string, pretty bool) ([]byte, error) {
	switch media {
	case mediaYAML:
		return wire.MarshalStatus(s, wire.YAML)
	case mediaProtobuf:
		return wire.MarshalStatus(s, wire.Protobuf)
	}
	if pretty {
		body, err := json.MarshalIndent(s, "", "  ")
		return body, err
	}
	body, err := wire.MarshalStatus(s, wire.JSON)
	return append(body, '\n'), err
}

// acceptedMedia returns the first supported media type of an Accept header.
func acceptedMedia(accept string) string {
	for accept != "" {
		var clause string
		clause, accept, _ = strings.Cut(accept, ",")
		media, params, _ := strings.Cut(clause, ";")
		if strings.Contains(params, "as=") {
			continue
		}
		switch media = strings.TrimSpace(media); media {
		case mediaJSON, mediaYAML, mediaProtobuf:
			return media
		}
	}
	return mediaJSON
}

// wantsPretty reports whether the response is for a person: the client is a browser, curl or wget, unless the
// query overrides it.
func wantsPretty(r *http.Request) bool {
	if v, ok := request.QueryValue(r.URL.RawQuery, "pretty"); ok {
		return v != "0" && !strings.EqualFold(v, "false")
	}
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") ||
		strings.HasPrefix(agent, "Mozilla/5.0")
}

// internalError responds 500 in plain text, for errors before the request is understood.
func internalError(w http.ResponseWriter, r *http.Request, err error) {
	text := fmt.Sprintf("Internal Server Error: %q: %v", request.Shortened(r.RequestURI), err)
	http.Error(w, noMarkup.Replace(text), http.StatusInternalServerError)
}

// noMarkup escapes HTML in client-provided text.
var noMarkup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
