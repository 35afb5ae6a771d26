package managedfields

import (
	"bytes"
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ordered reports whether an encoded set is in the order in which the library writes it. What is
// no set is not.
func ordered(encoded []byte) bool {
	d := json.NewDecoder(bytes.NewReader(encoded))
	var open []*fieldpath.PathElement // the last element of each open object
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, nil)
			continue
		case json.Delim('}'):
			if open = open[:len(open)-1]; len(open) == 0 {
				return !d.More()
			}
			continue
		}
		name, ok := token.(string)
		if !ok || len(open) == 0 {
			return false
		}
		if name == "." {
			continue
		}
		pe, err := fieldpath.DeserializePathElement(name)
		if err != nil {
			return false
		}
		last := &open[len(open)-1]
		if *last != nil && !(*last).Less(pe) {
			return false
		}
		*last = &pe
	}
}
