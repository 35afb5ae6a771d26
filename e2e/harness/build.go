package harness

import (
	"sync"
	"testing"

	"triplane.dev/e2e/programs"
)

// Programs are the paths of the programs that most tests use.
type Programs struct {
	Triplane, Kubectl, Etcd string
	// OwnSampleAPIServer is cmd/sample-apiserver.
	OwnSampleAPIServer string
	// Forgetful has the kernel ask about syncs (Disk).
	Forgetful string
}

var built = sync.OnceValues(build)

// Build returns the paths of the programs, which are built if they are not (package programs).
func Build() (Programs, error) { return built() }

func build() (p Programs, err error) {
	for _, b := range []struct {
		program programs.Program
		path    *string
	}{
		{programs.Triplane, &p.Triplane}, {programs.OwnSampleAPIServer, &p.OwnSampleAPIServer},
		{programs.Forgetful, &p.Forgetful}, {programs.Kubectl, &p.Kubectl}, {programs.Etcd, &p.Etcd},
	} {
		if *b.path, err = b.program.Path(); err != nil {
			return Programs{}, err
		}
	}
	return p, nil
}

// Tool returns the path of a program that few tests use.
func Tool(t testing.TB, p programs.Program) string {
	t.Helper()
	path, err := p.Path()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
