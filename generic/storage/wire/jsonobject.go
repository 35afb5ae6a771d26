package wire

// JSONObject appends a JSON object to Dst, one member at a time.
type JSONObject struct {
	Dst    []byte
	filled bool
}

// BeginJSON begins an object after dst.
func BeginJSON(dst []byte) JSONObject { return JSONObject{Dst: append(dst, '{')} }

// Key appends the name of a member, which must be escaped. The caller then appends its value to Dst.
func (o *JSONObject) Key(name []byte) {
	if o.filled {
		o.Dst = append(o.Dst, ',')
	}
	o.filled = true
	o.Dst = append(append(append(o.Dst, '"'), name...), `":`...)
}

// Member appends a member with a JSON value.
func (o *JSONObject) Member(name string, value []byte) {
	o.Key([]byte(name))
	o.Dst = append(o.Dst, value...)
}

// Text appends a member with a string value.
func (o *JSONObject) Text(name, value string) {
	o.Key([]byte(name))
	o.Dst = AppendString(o.Dst, value)
}

// Texts appends a member with a list of strings.
func (o *JSONObject) Texts(name string, values []string) {
	o.Key([]byte(name))
	o.Dst = append(o.Dst, '[')
	for i, v := range values {
		if i > 0 {
			o.Dst = append(o.Dst, ',')
		}
		o.Dst = AppendString(o.Dst, v)
	}
	o.Dst = append(o.Dst, ']')
}

// End ends the object and returns Dst.
func (o *JSONObject) End() []byte { return append(o.Dst, '}') }
