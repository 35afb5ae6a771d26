package encryption

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// envelope is the EncryptedObject of KMS v2 (KEP-3299): an encrypted value with the input for the plugin's
// Decrypt.
type envelope struct {
	data        []byte // 1
	keyID       string // 2
	source      []byte // 3, the encrypted seed or key
	annotations map[string][]byte
	sourceType  sourceType // 5
}

// sourceType is the type of an envelope's decrypted source.
type sourceType int32

const (
	// sourceKey is an AES key that was used with random nonces. It only decrypts.
	sourceKey sourceType = 0
	// sourceSeed is the seed from which a key is derived for each value.
	sourceSeed sourceType = 1
)

const (
	maxKeyID       = 1 << 10
	maxSource      = 1 << 10
	maxAnnotations = 32 << 10
)

// validate validates an envelope from a plugin or from storage.
func (e *envelope) validate() error {
	switch {
	case e.keyID == "":
		return errors.New("keyID is empty")
	case len(e.keyID) > maxKeyID:
		return fmt.Errorf("keyID is %d bytes, which exceeds the max size of %d", len(e.keyID), maxKeyID)
	case len(e.source) == 0:
		return errors.New("encrypted DEK source is empty")
	case len(e.source) > maxSource:
		return fmt.Errorf("encrypted DEK source is %d bytes, which exceeds the max size of %d", len(e.source), maxSource)
	case e.sourceType != sourceKey && e.sourceType != sourceSeed:
		return fmt.Errorf("unknown encrypted DEK source type %d", e.sourceType)
	}
	size := 0
	for k, v := range e.annotations {
		if errs := validation.IsFullyQualifiedDomainName(field.NewPath("annotations"), k); len(errs) > 0 {
			return errs.ToAggregate()
		}
		size += len(k) + len(v)
	}
	if size > maxAnnotations {
		return fmt.Errorf("total size of annotations is %d, which exceeds the max size of %d", size, maxAnnotations)
	}
	return nil
}

// appendHead appends the field of the data up to its bytes, of which there are size. The caller appends the
// bytes and the tail.
func appendHead(dst []byte, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, 1, protowire.BytesType), uint64(size))
}

// tail returns the encoding of all fields but the data. It is the same for all values of a key.
func (e *envelope) tail() []byte {
	b := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), e.keyID)
	b = protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), e.source)
	for _, k := range slices.Sorted(maps.Keys(e.annotations)) {
		entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), k)
		entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), e.annotations[k])
		b = protowire.AppendBytes(protowire.AppendTag(b, 4, protowire.BytesType), entry)
	}
	if e.sourceType != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, 5, protowire.VarintType), uint64(e.sourceType))
	}
	return b
}

// parse decodes an envelope. Its slices share memory with b.
func (e *envelope) parse(b []byte) error {
	return eachField(b, func(n protowire.Number, v []byte, number uint64) error {
		switch n {
		case 1:
			e.data = v
		case 2:
			e.keyID = string(v)
		case 3:
			e.source = v
		case 4:
			if len(e.annotations) >= maxAnnotations {
				return errors.New("too many annotations")
			}
			if e.annotations == nil {
				e.annotations = map[string][]byte{}
			}
			return parseAnnotation(v, e.annotations)
		case 5:
			e.sourceType = sourceType(number)
		}
		return nil
	})
}

func parseAnnotation(b []byte, into map[string][]byte) error {
	var key string
	var value []byte
	err := eachField(b, func(n protowire.Number, v []byte, _ uint64) error {
		switch n {
		case 1:
			key = string(v)
		case 2:
			value = v
		}
		return nil
	})
	into[key] = value
	return err
}

// eachField calls f for each field of a message, with the bytes or the varint of the field.
func eachField(b []byte, f func(n protowire.Number, v []byte, number uint64) error) error {
	for len(b) > 0 {
		n, t, size := protowire.ConsumeTag(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		var v []byte
		var number uint64
		switch t {
		case protowire.BytesType:
			v, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(b)
		default:
			size = protowire.ConsumeFieldValue(n, t, b)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		if err := f(n, v, number); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}
