package kindtest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// tableText prints a Table as kubectl does, with * at wide columns, and with the
// conditions of a row in brackets behind it.
func tableText(body any) any {
	text, err := json.Marshal(body)
	if err != nil {
		return body
	}
	var table struct {
		Kind              string `json:"kind"`
		ColumnDefinitions []struct {
			Name     string `json:"name"`
			Priority int    `json:"priority"`
		} `json:"columnDefinitions"`
		Rows []struct {
			Cells      []any `json:"cells"`
			Conditions []struct {
				Type   string `json:"type"`
				Reason string `json:"reason"`
			} `json:"conditions"`
		} `json:"rows"`
	}
	if json.Unmarshal(text, &table) != nil || table.Kind != "Table" {
		return body
	}
	var lines [][]string
	var head []string
	for _, c := range table.ColumnDefinitions {
		if c.Priority > 0 {
			c.Name += "*"
		}
		head = append(head, c.Name)
	}
	lines = append(lines, head)
	for _, row := range table.Rows {
		var line []string
		for _, cell := range row.Cells {
			line = append(line, cellText(cell))
		}
		for _, c := range row.Conditions {
			line = append(line, "["+c.Type+" "+c.Reason+"]")
		}
		lines = append(lines, line)
	}
	return aligned(lines)
}

func cellText(cell any) string {
	s := fmt.Sprint(cell)
	switch {
	case cell == nil:
		return "<null>"
	case s == "":
		return `""`
	case ageText.MatchString(s):
		return "<age>"
	}
	return s
}

// aligned puts two spaces between columns.
func aligned(lines [][]string) string {
	var widths []int
	for _, line := range lines {
		for i, cell := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var row strings.Builder
		for i, cell := range line {
			fmt.Fprintf(&row, "%-*s", widths[i]+2, cell)
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}
