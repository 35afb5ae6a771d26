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

// notes writes NOTES.md: sizes, and the commits since a former release by their rooms. It is not one of the files
// with a checksum.
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
	text := fmt.Sprintf("# Triplane %s\n\n| platform | binary |\n| --- | --- |\n%s\n\n## Changes\n%s", r.version,
		strings.Join(sizes, "\n"), byRoom(subjects))
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
