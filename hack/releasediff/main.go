package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "releasediff:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	set := flag.NewFlagSet("releasediff", flag.ContinueOnError)
	from := set.String("from", "", "The version of the modules of the older release, such as v0.36.2.")
	to := set.String("to", "", "The version of the modules of the newer release.")
	fromServer := set.String("from-server", "", "The URL of a fresh server of the older release. If blank, servers are not compared.")
	toServer := set.String("to-server", "", "The URL of a fresh server of the newer release.")
	token := set.String("token", "", "The bearer token of an administrator of both servers.")
	all := set.Bool("v", false, "Print each marker that differs, rather than how many fields got or lost it.")
	root := set.String("project", ".", "The root of the project.")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *from == "" || *to == "" || (*fromServer == "") != (*toServer == "") {
		return errors.New("set -from and -to, and both or none of -from-server and -to-server")
	}
	var both [2]facts
	for i, release := range []struct{ version, server string }{{*from, *fromServer}, {*to, *toServer}} {
		f, err := readRelease(release.version)
		if err == nil && release.server != "" {
			err = newServer(release.server, *token).read(f)
		}
		if err != nil {
			return err
		}
		both[i] = f
	}
	known, err := readProject(*root)
	if err != nil {
		return err
	}
	if present := requiredVersion(*root); present != "" && present != *to {
		if known.present, err = readRelease(present); err != nil {
			return err
		}
	}
	if !*all {
		both[0].countMarkers(both[1])
	}
	return printDifferences(out, both[0], both[1], known)
}

// countMarkers replaces the markers that only one of the releases has by the number of fields and types with each.
func (f facts) countMarkers(newer facts) {
	before, after := f[markers], newer[markers]
	count := func(own, other map[string]string) map[string]string {
		n := map[string]int{}
		for line := range own {
			if _, both := other[line]; !both {
				_, marker, _ := strings.Cut(line, " ")
				n[markerName.FindString(marker)]++
			}
		}
		out := map[string]string{}
		for marker, fields := range n {
			out[marker] = fmt.Sprintf("%d fields and types", fields)
		}
		return out
	}
	f[markers], newer[markers] = count(before, after), count(after, before)
	for marker := range newer[markers] {
		if f[markers][marker] == "" {
			f[markers][marker] = "0"
		}
	}
}

// markerName is a marker without its value: "+k8s:maxLength".
var markerName = regexp.MustCompile(`^\+[A-Za-z0-9:/_-]+`)

// sections are printed in this order.
var sections = []string{kinds, lifecycle, gates, types, fields, markers, constants, flags, resources, models, created}

// printDifferences prints what was added (+), removed (-) and changed (~).
func printDifferences(out io.Writer, from, to facts, known project) error {
	var text strings.Builder
	missing := 0
	for _, section := range sections {
		lines := differences(section, from[section], to[section], known)
		if len(lines) == 0 {
			continue
		}
		text.WriteString("## " + section + "\n\n")
		for _, line := range lines {
			if line.missing {
				missing++
			}
			text.WriteString(line.String() + "\n")
		}
		text.WriteString("\n")
	}
	_, err := fmt.Fprintf(out, "%s%d additions have no counterpart in the project.\n", text.String(), missing)
	return err
}

// difference is a line of a section.
type difference struct {
	sign    byte
	name    string
	value   string
	missing bool
}

// String returns the line as it is printed.
func (d difference) String() string {
	line := string(d.sign) + " " + d.name
	if d.value != "" {
		line += ": " + d.value
	}
	if d.missing {
		line += " (missing)"
	}
	return line
}

// differences compares a section of two releases, sorted by name.
func differences(section string, from, to map[string]string, known project) (all []difference) {
	names := maps.Clone(from)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, to)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, had := from[name]
		after, has := to[name]
		switch {
		case !had:
			all = append(all, difference{'+', name, after, !known.has(section, name)})
		case !has:
			all = append(all, difference{'-', name, "", false})
		case before != after:
			all = append(all, difference{'~', name, before + " → " + after, false})
		}
	}
	return all
}
