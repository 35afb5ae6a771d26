package imports

import (
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors are the folders of generic, the highest first. A package may import its own floor and lower ones.
var floors = []string{"run", "serve", "api", "guard", "storage", "base"}

// edges are the imports between folders, by importing folder.
type edges map[string]map[string]bool

// readEdges returns the imports between the packages below generic, without those of tests.
func readEdges(t *testing.T) edges {
	t.Helper()
	all := edges{}
	eachServedFile(t, func(rel string) {
		if !strings.HasPrefix(rel, "generic/") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, rel), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		from := filepath.ToSlash(filepath.Dir(rel))
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if to, inside := strings.CutPrefix(path, module+"/"); inside && strings.HasPrefix(to, "generic/") {
				if all[from] == nil {
					all[from] = map[string]bool{}
				}
				all[from][to] = true
			}
		}
	})
	return all
}

// floorOf returns the index of a package's floor, -1 for none.
func floorOf(pkg string) int {
	parts := strings.Split(pkg, "/")
	if len(parts) < 2 {
		return -1
	}
	return slices.Index(floors, parts[1])
}

// Imports between the floors of generic only go down.
func TestFloorsImportDownwards(t *testing.T) {
	all := readEdges(t)
	if len(all) < 40 {
		t.Fatalf("only %d packages import others", len(all))
	}
	for from, imported := range all {
		if floorOf(from) < 0 {
			t.Errorf("%s is on no floor: they are %s", from, strings.Join(floors, ", "))
			continue
		}
		for to := range imported {
			if floorOf(to) < floorOf(from) {
				t.Errorf("%s imports %s, which is on a higher floor", from, to)
			}
		}
	}
}

// roomEdges returns the imports between the rooms of generic: generic/FLOOR/ROOM with everything below.
func roomEdges(all edges) edges {
	room := func(pkg string) string {
		parts := strings.Split(pkg, "/")
		return strings.Join(parts[:min(len(parts), 3)], "/")
	}
	between := edges{}
	for from, imported := range all {
		for to := range imported {
			if a, b := room(from), room(to); a != b {
				if between[a] == nil {
					between[a] = map[string]bool{}
				}
				between[a][b] = true
			}
		}
	}
	return between
}

// cycle returns rooms with circular imports, nil if there are none.
func cycle(between edges) []string {
	const visiting, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(room string) []string
	visit = func(room string) []string {
		state[room] = visiting
		path = append(path, room)
		for _, to := range slices.Sorted(maps.Keys(between[room])) {
			if state[to] == visiting {
				return append(slices.Clone(path[slices.Index(path, to):]), to)
			}
			if state[to] == 0 {
				if found := visit(to); found != nil {
					return found
				}
			}
		}
		path = path[:len(path)-1]
		state[room] = done
		return nil
	}
	for _, room := range slices.Sorted(maps.Keys(between)) {
		if state[room] == 0 {
			if found := visit(room); found != nil {
				return found
			}
		}
	}
	return nil
}

// Rooms of generic have no circular imports, not even through different packages.
func TestRoomsAreAcyclic(t *testing.T) {
	if found := cycle(roomEdges(readEdges(t))); found != nil {
		t.Errorf("a cycle of rooms: %s", strings.Join(found, " → "))
	}
}

func TestCycle(t *testing.T) {
	set := func(to ...string) map[string]bool {
		m := map[string]bool{}
		for _, room := range to {
			m[room] = true
		}
		return m
	}
	for _, c := range []struct {
		between edges
		want    []string
	}{
		{edges{}, nil},
		{edges{"a": set("b", "c"), "b": set("c")}, nil},
		{edges{"a": set("b"), "b": set("c"), "c": set("b")}, []string{"b", "c", "b"}},
	} {
		if got := cycle(c.between); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.between, got, c.want)
		}
	}
}
