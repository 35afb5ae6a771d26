package kind

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire/protojson"
)

// Types is what kinds find out about their Go types. Kinds that share it, of other servers, too, do so once. It is safe
// for concurrent use.
type Types struct {
	json        *protojson.Types
	definitions sync.Map // by resource

	mu       sync.Mutex
	empties  map[reflect.Type]*object.Empties
	extracts map[extracted]*extract
}

// extracted is the part of a Go type that paths name.
type extracted struct {
	goType reflect.Type
	paths  string // separated by commas
}

// NewTypes returns Types that know no type.
func NewTypes() *Types {
	return &Types{json: protojson.NewTypes(), empties: map[reflect.Type]*object.Empties{},
		extracts: map[extracted]*extract{}}
}

// emptiesOf is object.EmptiesOf, once for each type.
func (s *Types) emptiesOf(t reflect.Type) *object.Empties {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.empties[t]
	if !ok {
		e = object.EmptiesOf(t)
		s.empties[t] = e
	}
	return e
}

// extractOf returns how the fields of paths are taken out of messages of a struct. The error names a path that it does
// not have.
func (s *Types) extractOf(t reflect.Type, paths []string) (*extract, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := extracted{t, strings.Join(paths, ",")}
	if x := s.extracts[key]; x != nil {
		return x, nil
	}
	x := &extract{}
	for _, path := range paths {
		if !x.add(t, strings.Split(path, ".")) {
			return nil, fmt.Errorf("%s, which has no number in protobuf", path)
		}
	}
	s.extracts[key] = x
	return x, nil
}
