package filters

import "net/http"

// stackRoom is what a request's goroutine gets at the beginning, in bytes. Most
// need between 8 and 16 KiB; the runtime keeps stacks up to 16 KiB ready.
const stackRoom = 9 << 10

// withStack grows the stack of a request's goroutine to the size that it will need,
// while there is next to nothing on it. Each request of HTTP/2 has a goroutine of
// its own, which begins with a small stack and copies it each time that it doubles.
//
// Options: none. Metrics: none. Order: first, where there is least to copy.
func withStack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		growStack(len(r.Method))
		next.ServeHTTP(w, r)
	})
}

// growStack has a large frame, and nothing else.
//
//go:noinline
func growStack(i int) byte {
	var room [stackRoom]byte
	return room[i%stackRoom]
}
