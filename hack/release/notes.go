package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// git returns the output of a git command in the source.
func (r *release) git(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", r.root}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// dependencies returns the rows of a table: how many packages and modules a program gets that imports a package.
func (r *release) dependencies() (string, error) {
	var rows strings.Builder
	for _, pkg := range []string{"triplane.dev/testserver", "triplane.dev/apiserver"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{.Module.Path}}{{end}}", pkg)
		list.Dir, list.Env = r.root, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		out, err := list.Output()
		if err != nil {
			return "", fmt.Errorf("go list %s: %w", pkg, err)
		}
		packages, modules := 0, map[string]bool{}
		for line := range strings.Lines(string(out)) {
			_, module, _ := strings.Cut(strings.TrimSpace(line), " ")
			packages++
			modules[module] = true
		}
		fmt.Fprintf(&rows, "| `%s` | %d | %d |\n", pkg, packages, len(modules))
	}
	return rows.String(), nil
}

// notes writes NOTES.md: sizes, dependencies, and the commits since a former release by their rooms. It is not one of
// the files with a checksum.
func (r *release) notes(since string, sizes []string) error {
	if since == "" {
		since, _ = r.git("describe", "--tags", "--abbrev=0", "HEAD^") // the first release has no former one
	}
	commits := "HEAD"
	if since != "" {
		commits = since + "..HEAD"
	}
	subjects, err := r.git("log", "--no-merges", "--format=%s", commits)
	if err != nil {
		return err
	}
	dependencies, err := r.dependencies()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("# Triplane %s\n\n| platform | binary |\n| --- | --- |\n%s\n\n"+
		"| import | packages | modules |\n| --- | --- | --- |\n%s\n## Changes\n%s",
		r.version, strings.Join(sizes, "\n"), dependencies, byRoom(subjects))
	return os.WriteFile(filepath.Join(r.out, "NOTES.md"), []byte(text), 0o644)
}

// byRoom lists the subjects of commits by what precedes their colon, the oldest first.
func byRoom(subjects string) string {
	rooms := map[string][]string{}
	for line := range strings.Lines(subjects) {
		room, change, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			room, change = "other", room
		}
		rooms[room] = append(rooms[room], change)
	}
	var text strings.Builder
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		fmt.Fprintf(&text, "\n### %s\n\n", room)
		slices.Reverse(rooms[room])
		for _, change := range rooms[room] {
			fmt.Fprintf(&text, "- %s\n", change)
		}
	}
	return text.String()
}
