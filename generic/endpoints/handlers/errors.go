package handlers

import "net/http"

// WriteError answers with an error as a Status, in the media type that the
// client accepts; JSON where it accepts none of the server's.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {}

