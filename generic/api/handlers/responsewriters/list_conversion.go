package responsewriters

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"triplane.dev/generic/base/request"
)

// conversion writes a list of JSON in another form.
type conversion struct {
	list, item func(json []byte) ([]byte, error)
	// before, zero and after are what the form has for the items of a list whose only item is the number 0.
	before, zero, after string
	separator           string
}

// indented is JSON for people, as json.Indent writes it.
var indented = conversion{
	list:   func(b []byte) ([]byte, error) { return indent(b, "") },
	item:   func(b []byte) ([]byte, error) { return indent(b, "    ") },
	before: "\n    ", zero: "0", after: "\n", separator: ",\n    ",
}

func indent(b []byte, prefix string) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(b) + len(b)/2)
	err := json.Indent(&out, b, prefix, "  ")
	return out.Bytes(), err
}

// asYAML converts each item as a separate list.
var asYAML = conversion{
	list:   toYAML,
	item:   func(b []byte) ([]byte, error) { return toYAML(slices.Concat([]byte("["), b, []byte("]"))) },
	before: "\n", zero: "- 0\n",
}

// convert writes the list in another form.
func (e *envelope) convert(ctx context.Context, c conversion) (err error) {
	if len(e.items) == 0 {
		e.head, err = c.list(slices.Concat(e.head, e.tail))
		e.tail = nil
		return err
	}
	open, tails := bytes.CutSuffix(e.head, []byte("{"))
	list, err := c.list(slices.Concat(open, []byte("0"), e.tail))
	if err != nil {
		return err
	}
	// Texts have no line breaks, so that the zero is the only one.
	e.head, e.tail, _ = bytes.Cut(list, []byte(c.before+c.zero+c.after))
	e.head, e.tail = append(slices.Clip(e.head), c.before...), append([]byte(c.after), e.tail...)
	e.separator = []byte(c.separator)
	item := func(b []byte) ([]byte, error) {
		if tails {
			b = slices.Concat([]byte("{"), b)
		}
		return c.item(b)
	}
	for i, b := range e.items {
		if err = yieldAt(ctx, i); err == nil {
			e.items[i], err = item(b)
		}
		if err != nil {
			return err
		}
	}
	request.Keeps(ctx, e.size())
	if more := e.more; more != nil {
		e.more = func(yield func([]byte, error) bool) {
			for b, err := range more {
				if err == nil {
					b, err = item(b)
				}
				if !yield(b, err) {
					return
				}
			}
		}
	}
	return nil
}
