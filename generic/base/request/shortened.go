package request

import "strings"

// maxEcho limits how many bytes of a client's input an error message repeats. Valid names and paths are
// shorter.
const maxEcho = 1024

// Shortened truncates client input for error messages, so that these stay short.
func Shortened(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:maxEcho], "") + "..."
}
