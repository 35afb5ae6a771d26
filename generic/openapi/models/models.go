package models

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"
	"weak"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

//go:embed models.json.gz
var compressed []byte

// Hash identifies the models.
var Hash = sync.OnceValue(func() string { return fmt.Sprintf("%x", sha256.Sum256(compressed)) })

// entry is a model as it is stored: references are "@" and a model's name.
type entry struct {
	Schema       json.RawMessage `json:"schema"`
	V2Schema     json.RawMessage `json:"v2Schema"`
	Dependencies []string        `json:"dependencies"`
}

// Models are the decompressed models. They are safe for concurrent use and
// dropped by the garbage collector when nobody holds them.
type Models struct {
	entries map[string]entry
	noEnums bool
}

// Source hands out the Models, decompressing them when they are not in memory.
// The zero value is ready for use.
type Source struct {
	// NoEnums leaves out which values fields may have (OpenAPIEnums is off). It is set
	// before Models is called.
	NoEnums bool

	mu     sync.Mutex
	loaded weak.Pointer[Models]
	// kept holds them, for keepFor after the last use: who reads one document reads many.
	kept   *Models
	unkeep *time.Timer
	own    map[string]entry // see Describe
}

// Models returns the decompressed models.
func (s *Source) Models() (*Models, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.loaded.Value()
	if m == nil {
		entries, err := decompress()
		if err != nil {
			return nil, fmt.Errorf("openapi models: %w", err)
		}
		m = &Models{noEnums: s.NoEnums, entries: entries}
		maps.Copy(m.entries, s.own)
		s.loaded = weak.Make(m)
	}
	s.keep(m)
	return m, nil
}

// keepFor is how long models are held after their last use, some megabytes.
const keepFor = 5 * time.Second

// keep holds the models for a while. s.mu is held.
func (s *Source) keep(m *Models) {
	s.kept = m
	if s.unkeep != nil {
		s.unkeep.Reset(keepFor)
		return
	}
	s.unkeep = time.AfterFunc(keepFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.kept = nil
	})
}

func decompress() (entries map[string]entry, err error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(compressed[len(compressed)-4:]) // RFC 1952, ISIZE
	data := bytes.NewBuffer(make([]byte, 0, int(size)+bytes.MinRead))
	if _, err := data.ReadFrom(z); err != nil {
		return nil, err
	}
	return entries, json.Unmarshal(data.Bytes(), &entries)
}

// Has reports whether there is a model of the name.
func (m *Models) Has(name string) bool {
	_, ok := m.entries[name]
	return ok
}

// Closure returns the named models and all that they refer to, directly or not.
func (m *Models) Closure(names ...string) map[string]bool {
	seen := map[string]bool{}
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if e, ok := m.entries[name]; ok && !seen[name] {
			seen[name] = true
			names = append(names, e.Dependencies...)
		}
	}
	return seen
}

// Definitions returns the named models as kube-openapi's builders want them,
// with references as ref makes them.
func (m *Models) Definitions(names map[string]bool, ref common.ReferenceCallback) (map[string]common.OpenAPIDefinition, error) {
	out := make(map[string]common.OpenAPIDefinition, len(names))
	for name := range names {
		e := m.entries[name]
		d := common.OpenAPIDefinition{Dependencies: e.Dependencies}
		if err := decode(e.Schema, ref, &d.Schema); err != nil {
			return nil, fmt.Errorf("openapi model %s: %w", name, err)
		}
		if m.noEnums {
			dropEnums(&d.Schema)
		}
		if e.V2Schema != nil {
			var v2 spec.Schema
			if err := decode(e.V2Schema, ref, &v2); err != nil {
				return nil, fmt.Errorf("openapi model %s: %w", name, err)
			}
			d.Schema.AddExtension(common.ExtensionV2Schema, v2)
		}
		out[name] = d
	}
	runtime.KeepAlive(m)
	return out, nil
}

// All returns the names of all models.
func (m *Models) All() map[string]bool {
	all := make(map[string]bool, len(m.entries))
	for name := range m.entries {
		all[name] = true
	}
	return all
}

// refKey is how a reference to a model looks in the stored JSON.
var refKey = []byte(`"$ref":"@`)

// decode parses a stored schema, with the prefix that ref puts before names.
func decode(raw json.RawMessage, ref common.ReferenceCallback, into *spec.Schema) error {
	if bytes.Contains(raw, refKey) {
		r := ref("@")
		prefix := bytes.TrimSuffix([]byte(r.String()), []byte("@"))
		raw = bytes.ReplaceAll(raw, refKey, append([]byte(`"$ref":"`), prefix...))
	}
	return into.UnmarshalJSON(raw)
}
