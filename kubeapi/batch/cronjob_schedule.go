package batch

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cronField is what a field of a schedule may hold.
type cronField struct {
	min, max int
	names    []string // of min, min+1...
}

func cronFields() []cronField {
	return []cronField{
		{min: 0, max: 59},
		{min: 0, max: 23},
		{min: 1, max: 31},
		{min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct",
			"nov", "dec"}},
		{min: 0, max: 6, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// checkSchedule returns what is wrong with a schedule in Cron format: five fields,
// or a descriptor such as "@daily" or "@every 5m", behind an optional time zone.
func checkSchedule(spec string) error {
	if strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ=") {
		zone, rest, ok := strings.Cut(spec[strings.Index(spec, "=")+1:], " ")
		if !ok {
			return fmt.Errorf("invalid schedule format: runtime error: slice bounds out of range [:-1]")
		}
		if _, err := time.LoadLocation(zone); err != nil {
			return fmt.Errorf("provided bad location %s: %w", zone, err)
		}
		spec = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(spec, "@") {
		return checkDescriptor(spec)
	}
	fields := strings.Fields(spec)
	want := cronFields()
	if len(fields) != len(want) {
		return fmt.Errorf("expected exactly %d fields, found %d: %s", len(want), len(fields), fields)
	}
	for i, f := range fields {
		for _, expr := range strings.FieldsFunc(f, func(r rune) bool { return r == ',' }) {
			if err := checkRange(expr, want[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkDescriptor(spec string) error {
	switch spec {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return nil
	}
	if d, ok := strings.CutPrefix(spec, "@every "); ok {
		if _, err := time.ParseDuration(d); err != nil {
			return fmt.Errorf("failed to parse duration %s: %w", spec, err)
		}
		return nil
	}
	return fmt.Errorf("unrecognized descriptor: %s", spec)
}

// checkRange validates "*", "n", "n-m", each with an optional "/step".
func checkRange(expr string, f cronField) error {
	parts := strings.Split(expr, "/")
	bounds := strings.Split(parts[0], "-")
	start, end := f.min, f.max
	if bounds[0] != "*" && bounds[0] != "?" {
		var err error
		if start, err = cronNumber(bounds[0], f); err != nil {
			return err
		}
		switch len(bounds) {
		case 1:
			end = start
		case 2:
			if end, err = cronNumber(bounds[1], f); err != nil {
				return err
			}
		default:
			return fmt.Errorf("too many hyphens: %s", expr)
		}
	}
	step := 1
	switch len(parts) {
	case 1:
	case 2:
		var err error
		if step, err = cronNumber(parts[1], cronField{}); err != nil {
			return err
		}
		if len(bounds) == 1 {
			end = f.max
		}
	default:
		return fmt.Errorf("too many slashes: %s", expr)
	}
	switch {
	case start < f.min:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", start, f.min, expr)
	case end > f.max:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", end, f.max, expr)
	case start > end:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", start, end, expr)
	case step == 0:
		return fmt.Errorf("step of range should be a positive number: %s", expr)
	}
	return nil
}

func cronNumber(s string, f cronField) (int, error) {
	for i, n := range f.names {
		if strings.EqualFold(s, n) {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("failed to parse int from %s: %w", s, err)
	}
	if n < 0 {
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, s)
	}
	return n, nil
}
