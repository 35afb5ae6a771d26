package filters

import "net/http"

const (
	// readRoom is the initial stack of the goroutine of a request without a body, in bytes. Most need between 8
	// and 16 KiB; the runtime caches stacks up to 16 KiB.
	readRoom = 9 << 10
	// writeRoom is the initial stack of requests with a body: decoders and mergers recurse for each level of the
	// object. The runtime allocates 32 KiB in 1 µs, but needs 20 µs to copy 16 KiB in use.
	writeRoom = 17 << 10
)

// withStack grows the stack of a request's goroutine to its likely size while almost nothing is on it. Over
// HTTP/2 most concurrent requests have a new goroutine, whose small stack is copied each time that it doubles.
//
// Options: none. Metrics: none. Order: first, where the stack is smallest.
func withStack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost, http.MethodPut, http.MethodPatch:
			growToWrite(len(r.Method))
		default:
			growToRead(len(r.Method))
		}
		next.ServeHTTP(w, r)
	})
}

// growToRead has a frame of readRoom bytes and does nothing else.
//
//go:noinline
func growToRead(i int) byte {
	var room [readRoom]byte
	return room[i%readRoom]
}

// growToWrite is like growToRead for requests with a body.
//
//go:noinline
func growToWrite(i int) byte {
	var room [writeRoom]byte
	return room[i%writeRoom]
}
