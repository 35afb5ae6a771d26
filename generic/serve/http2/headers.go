package http2

import (
	"errors"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"

	frame "golang.org/x/net/http2"
)

// fragments bounds the frames of a header block. A block that fills the limit of bytes has as many only if its client
// sends tiny frames to occupy the processor.
const fragments = 64

// headerBlock decodes the header of a request, or its trailers (RFC 9113, section 8.2). It is not safe for concurrent
// use.
type headerBlock struct {
	decoder *hpack.Decoder
	limit   int
	names   map[string]string // canonical names of fields, by the name as sent

	pseudo    [4]string // the values of pseudoNames
	has       [4]bool
	fields    []hpack.HeaderField
	size      int // as SETTINGS_MAX_HEADER_LIST_SIZE counts
	frames    int
	malformed error
}

// pseudoNames are the pseudo-header fields of requests.
var pseudoNames = [4]string{":method", ":scheme", ":authority", ":path"}

const (
	method = iota
	scheme
	authority
	path
)

func (h *headerBlock) init(limit int) {
	h.limit = limit
	h.names = map[string]string{}
	h.decoder = hpack.NewDecoder(tableSize, h.add)
	h.decoder.SetMaxStringLength(limit)
}

// start begins a block.
func (h *headerBlock) start() {
	h.has, h.size, h.frames, h.malformed = [4]bool{}, 0, 0, nil
}

// release drops the fields of a block.
func (h *headerBlock) release() {
	clear(h.fields)
	h.fields, h.pseudo = h.fields[:0], [4]string{}
	if cap(h.fields) > maxNames {
		h.fields = nil
	}
}

// write decodes a fragment of a block.
func (h *headerBlock) write(fragment []byte, last bool) error {
	if h.frames++; h.frames > fragments {
		return frame.ConnectionError(frame.ErrCodeEnhanceYourCalm)
	}
	_, err := h.decoder.Write(fragment)
	if err == nil && last {
		err = h.decoder.Close()
	}
	if h.size > 2*h.limit || errors.Is(err, hpack.ErrStringLength) {
		return frame.ConnectionError(frame.ErrCodeEnhanceYourCalm)
	}
	if err != nil {
		return frame.ConnectionError(frame.ErrCodeCompression)
	}
	return nil
}

// large reports whether the block has exceeded the limit.
func (h *headerBlock) large() bool { return h.size > h.limit }

// add receives a decoded field.
func (h *headerBlock) add(f hpack.HeaderField) {
	h.size += int(f.Size())
	if h.large() || h.malformed != nil {
		return // decoded for the table
	}
	if !httpguts.ValidHeaderFieldValue(f.Value) {
		h.malformed = errors.New("invalid value of a field")
		return
	}
	if strings.HasPrefix(f.Name, ":") {
		h.addPseudo(f)
		return
	}
	if !h.permits(f) {
		h.malformed = errors.New("invalid field")
		return
	}
	h.fields = append(h.fields, f)
}

func (h *headerBlock) addPseudo(f hpack.HeaderField) {
	for i, name := range pseudoNames {
		if f.Name == name && !h.has[i] && len(h.fields) == 0 {
			h.pseudo[i], h.has[i] = f.Value, true
			return
		}
	}
	h.malformed = errors.New("unknown, repeated or late pseudo-header field")
}

// permits reports whether HTTP/2 permits a field. Its name must be in lower case.
func (h *headerBlock) permits(f hpack.HeaderField) bool {
	switch f.Name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return false
	case "te":
		return f.Value == "trailers"
	}
	if _, known := h.names[f.Name]; known {
		return true
	}
	if !httpguts.ValidHeaderFieldName(f.Name) {
		return false
	}
	for i := range len(f.Name) {
		if c := f.Name[i]; 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}
