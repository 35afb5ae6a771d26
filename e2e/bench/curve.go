package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// curve is how some numbers grow with one.
type curve struct {
	name    string
	sizes   []int
	columns []string
	cells   map[int]map[string]string
}

func (r *results) curve(name string) *curve {
	c := &curve{name: name, cells: map[int]map[string]string{}}
	r.curves = append(r.curves, c)
	return c
}

// add enters a point.
func (c *curve) add(size int, column, value string) {
	if c.cells[size] == nil {
		c.sizes = append(c.sizes, size)
		c.cells[size] = map[string]string{}
	}
	if !slices.Contains(c.columns, column) {
		c.columns = append(c.columns, column)
	}
	c.cells[size][column] = value
	progress("  %d %s: %s %s", size, c.name, column, value)
}

func (c *curve) write(w *bytes.Buffer) {
	fmt.Fprintf(w, "\n## Scaling: %s\n\n| %s | %s |\n|%s\n", c.name, c.name, strings.Join(c.columns, " | "),
		strings.Repeat(" --- |", len(c.columns)+1))
	for _, size := range c.sizes {
		fmt.Fprintf(w, "| %d |", size)
		for _, column := range c.columns {
			value := c.cells[size][column]
			if value == "" {
				value = "–"
			}
			fmt.Fprintf(w, " %s |", value)
		}
		fmt.Fprintln(w)
	}
}

func mb(n int64) string { return fmt.Sprintf("%d MB", n>>20) }

// cost is what an operation took.
func cost(m measured) string { return fmt.Sprintf("%.3f ms CPU, p50 %.2f ms", m.cpuPerOp(), ms(m.p50)) }

// size is that of all files below a directory.
func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
