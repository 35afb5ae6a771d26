package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"io"
)

// document is a finished document: its JSON, compressed, and its hash.
type document struct {
	compressed []byte
	size       int
	hash       string // upper-case hex of a SHA-512, the entity tag
}

// newDocument encodes a document; its content is hashed where no hash is given.
func newDocument(v json.Marshaler, hash string) (*document, error) {
	data, err := v.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	if hash == "" {
		hash = fmt.Sprintf("%X", sha512.Sum512(data))
	}
	return &document{compressed: bytes.Clone(buf.Bytes()), size: len(data), hash: hash}, nil
}

func (d *document) json() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(d.compressed))
	if err != nil {
		return nil, err
	}
	buf := bytes.NewBuffer(make([]byte, 0, d.size))
	_, err = io.Copy(buf, z)
	return buf.Bytes(), err
}
