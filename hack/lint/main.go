package main

import (
	"fmt"
	"os"
	"slices"
)

func main() {
	findings, err := findingsIn(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		os.Exit(1)
	}
}

// findingsIn returns what is found in packages, sorted, a line each.
func findingsIn(patterns []string) ([]string, error) {
	checks, err := newChecks()
	if err != nil {
		return nil, err
	}
	packages, err := load(patterns)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, f := range analyze(packages, checks) {
		lines = append(lines, f.String())
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}
