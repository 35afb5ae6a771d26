package openapi

import (
	"bytes"
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/wire"
)

// document is a finished document: its JSON and its hash. It is safe for concurrent use.
type document struct {
	json packed
	hash string // upper-case hex of a SHA-512, the entity tag

	lock  request.Lock // of the fields below
	proto packed       // empty before the first request for it
	err   error
}

// packed is a text that is kept compressed.
type packed struct {
	compressed []byte
	size       int
}

// newDocument returns a document of the JSON, which is hashed where no hash is given.
func newDocument(json packed, hash string) *document {
	if hash == "" {
		hash = fmt.Sprintf("%X", sha512.Sum512(json.compressed))
	}
	return &document{json: json, hash: hash}
}

// protobuf returns the document in protobuf. It is converted when it is first requested: that takes
// a hundred times as long as the JSON.
func (d *document) protobuf(ctx context.Context, convert func([]byte) ([]byte, error)) (packed, error) {
	if err := d.lock.Lock(ctx); err != nil {
		return packed{}, err
	}
	defer d.lock.Unlock()
	if d.proto.compressed == nil && d.err == nil {
		d.err = d.makeProtobuf(convert)
	}
	return d.proto, d.err
}

func (d *document) makeProtobuf(convert func([]byte) ([]byte, error)) error {
	text := bytes.NewBuffer(make([]byte, 0, d.json.size))
	if err := d.json.writeTo(text); err != nil {
		return err
	}
	proto, err := convert(text.Bytes())
	if err == nil {
		d.proto = pack(proto)
	}
	return err
}

func pack(text []byte) packed {
	var out bytes.Buffer
	z := negotiation.NewGzip(&out)
	_, _ = z.Write(text) // into memory
	_ = negotiation.EndGzip(z)
	return packed{bytes.Clone(out.Bytes()), len(text)}
}

// unpackerSize is about what an unpacker occupies: its piece, and the window and tables of DEFLATE.
const unpackerSize = wire.DataFrame + 44<<10

// unpacker decompresses a text piece by piece.
type unpacker struct {
	from  bytes.Reader
	z     gzip.Reader
	piece [wire.DataFrame]byte
}

var unpackers = sync.Pool{New: func() any { return new(unpacker) }}

// writeTo writes the text to w in pieces. Each is decompressed when w has taken the one before, so that a writer
// that blocks costs an unpacker, however long the text is.
func (p packed) writeTo(w io.Writer) error {
	u := unpackers.Get().(*unpacker)
	defer u.free()
	u.from.Reset(p.compressed)
	if err := u.z.Reset(&u.from); err != nil {
		return err
	}
	for {
		n, err := io.ReadFull(&u.z, u.piece[:])
		if n > 0 {
			if _, err := w.Write(u.piece[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // of a last piece
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacker) free() {
	u.from.Reset(nil) // it holds on to the text otherwise
	unpackers.Put(u)
}
