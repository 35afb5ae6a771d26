package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"fmt"
	"io"
)

// document is a finished document: its JSON, compressed, and its hash.
type document struct {
	compressed []byte
	size       int
	hash       string // upper-case hex of a SHA-512, the entity tag
}

// newDocument returns a document of what is compressed, which is hashed where no hash is given.
func newDocument(compressed []byte, size int, hash string) *document {
	if hash == "" {
		hash = fmt.Sprintf("%X", sha512.Sum512(compressed))
	}
	return &document{compressed: compressed, size: size, hash: hash}
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
