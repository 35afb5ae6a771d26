package request

import "strings"

// maxEcho bounds how much of a client's own words is in an error's text: what
// names and paths are good for is shorter.
const maxEcho = 1024

// Shortened cuts a text that would make an answer as long as the question.
func Shortened(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:maxEcho], "") + "..."
}
