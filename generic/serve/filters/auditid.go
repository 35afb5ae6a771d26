package filters

import (
	"encoding/hex"
	"math/rand/v2"
	"net/http"
)

const (
	auditIDHeader = "Audit-Id"
	maxAuditID    = 64
)

// withAuditID sets the audit ID of the request: the Audit-Id header if present, otherwise a new UUID. The response
// repeats it, truncated to 64 bytes.
//
// Options: none. Metrics: none. Order: before all filters that log or respond.
func withAuditID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(auditIDHeader)
		if id == "" {
			id = newID()
		}
		e := exchangeOf(r)
		e.AuditIDs[0] = id
		if w.Header()[auditIDHeader] = e.AuditIDs[:]; len(id) > maxAuditID {
			w.Header().Set(auditIDHeader, id[:maxAuditID])
		}
		next.ServeHTTP(w, r)
	})
}

// newID returns a random UUID. It is unique, but not secret.
func newID() string {
	var raw [16]byte
	hi, lo := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		raw[i], raw[8+i] = byte(hi>>(8*i)), byte(lo>>(8*i))
	}
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], raw[0:4])
	hex.Encode(text[9:13], raw[4:6])
	hex.Encode(text[14:18], raw[6:8])
	hex.Encode(text[19:23], raw[8:10])
	hex.Encode(text[24:36], raw[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
