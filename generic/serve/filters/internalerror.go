package filters

import (
	"fmt"
	"net/http"
	"strings"

	"triplane.dev/generic/base/request"
)

// internalError responds 500 in plain text, for errors before the request is understood.
func internalError(w http.ResponseWriter, r *http.Request, err error) {
	text := fmt.Sprintf("Internal Server Error: %q: %v", request.Shortened(r.RequestURI), err)
	http.Error(w, noMarkup.Replace(text), http.StatusInternalServerError)
}

// noMarkup escapes HTML in client-provided text.
var noMarkup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
