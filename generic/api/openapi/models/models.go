package models

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/klauspost/compress/gzip"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane.dev/generic/storage/wire"
)

//go:embed models.json.gz
var compressed []byte

// Hash identifies the models.
var Hash = sync.OnceValue(func() string { return fmt.Sprintf("%x", sha256.Sum256(compressed)) })

// entry is a model as it is stored, its schemas in JSON: references are "@" and a model's name.
type entry struct {
	Schema, V2Schema []byte
	Dependencies     []string
}

// Models are the decompressed models. They are safe for concurrent use and
// dropped by the garbage collector when they are not referenced.
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

func decompress() (map[string]entry, error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(compressed[len(compressed)-4:]) // RFC 1952, ISIZE
	data := bytes.NewBuffer(make([]byte, 0, int(size)+bytes.MinRead))
	if _, err := data.ReadFrom(z); err != nil {
		return nil, err
	}
	entries := map[string]entry{}
	for name, value := range wire.JSONMembers(data.Bytes()) {
		entries[string(name)] = readEntry(value)
	}
	return entries, nil
}

func readEntry(stored []byte) (e entry) {
	for name, value := range wire.JSONMembers(stored) {
		switch string(name) {
		case "schema":
			e.Schema = value
		case "v2Schema":
			e.V2Schema = value
		case "dependencies":
			for name := range wire.JSONElements(value) {
				e.Dependencies = append(e.Dependencies, string(name[1:len(name)-1]))
			}
		}
	}
	return e
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

// refKey is how a reference to a model looks in the stored JSON.
var refKey = []byte(`"$ref":"@`)

// Schemas returns the named models and all that they refer to, by what documents call them.
// References are refs and the name.
func (m *Models) Schemas(refs string, names ...string) (map[string]*spec.Schema, error) {
	defer runtime.KeepAlive(m)
	closure := m.Closure(names...)
	out := make(map[string]*spec.Schema, len(closure))
	for name := range closure {
		s := &spec.Schema{}
		if err := s.UnmarshalJSON(bytes.ReplaceAll(m.entries[name].Schema, refKey, []byte(`"$ref":"`+refs))); err != nil {
			return nil, fmt.Errorf("openapi model %s: %w", name, err)
		}
		out[Name(name)] = s
	}
	return out, nil
}
