package filters

import "net/http"

const (
	// readRoom is what the goroutine of a request without a body gets at the beginning, in bytes. Most
	// need between 8 and 16 KiB; the runtime keeps stacks up to 16 KiB ready.
	readRoom = 9 << 10
	// writeRoom is what those with a body get: decoders and mergers call themselves for each level
	// of the object. To find 32 KiB takes the runtime 1 µs, to copy what is in use of 16 takes 20.
	writeRoom = 17 << 10
)

// withStack grows the stack of a request's goroutine to the size that it will need,
// while there is next to nothing on it. Each request of HTTP/2 has a goroutine of
// its own, which begins with a small stack and copies it each time that it doubles.
//
// Options: none. Metrics: none. Order: first, where there is least to copy.
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

// growToRead has a large frame, and nothing else.
//
//go:noinline
func growToRead(i int) byte {
	var room [readRoom]byte
	return room[i%readRoom]
}

// growToWrite is growToRead for requests with a body.
//
//go:noinline
func growToWrite(i int) byte {
	var room [writeRoom]byte
	return room[i%writeRoom]
}
