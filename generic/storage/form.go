package storage

import "sync/atomic"

// form is a node in the list of a record's encoded forms. The node stays when the budget drops its bytes.
type form struct {
	id    FormID
	used  atomic.Bool // since the budget's last pass
	bytes atomic.Pointer[[]byte]
	next  *form
}

// load returns the form's bytes, or nil if they were dropped.
func (f *form) load() []byte {
	b := f.bytes.Load()
	if b == nil {
		return nil
	}
	if !f.used.Load() {
		f.used.Store(true)
	}
	return *b
}

// Form returns the record in a wire form. It encodes the form at most once while its bytes are cached. The
// bytes are shared and must not be changed.
func (r *Record) Form(id FormID, budget *Budget, encode func(*Record) ([]byte, error)) ([]byte, error) {
	if b := r.KeptForm(id); b != nil {
		return b, nil
	}
	b, err := encode(r)
	if err != nil {
		return nil, err
	}
	r.SeedForm(id, budget, b)
	return b, nil
}

// KeptForm returns the record in a wire form, or nil if that is not cached.
func (r *Record) KeptForm(id FormID) []byte {
	if f := r.form(id); f != nil {
		return f.load()
	}
	return nil
}

// KeptForms appends the bytes of each record in a wire form to dst, or nil if they are not cached. It follows the
// pointers of all records in steps, so that the processor waits once for the memory of many: in a large cache each
// pointer is a cache miss.
func KeptForms(dst [][]byte, records []*Record, id FormID) [][]byte {
	var forms [64]*form
	from := len(dst)
	for len(records) > 0 {
		n := min(len(records), len(forms))
		for i, r := range records[:n] {
			forms[i] = r.form(id)
		}
		for _, f := range forms[:n] {
			var b []byte
			if f != nil {
				b = f.load()
			}
			dst = append(dst, b)
		}
		records = records[n:]
	}
	touch(dst[from:])
	return dst
}

// touch reads the first byte of each text. Their sum keeps the compiler from leaving that out.
//
//go:noinline
func touch(texts [][]byte) (sum int) { //nolint:unparam // as above
	for _, b := range texts {
		if len(b) > 0 {
			sum += int(b[0])
		}
	}
	return sum
}

// SeedForm adds bytes that the caller has encoded, for example in a write. It does nothing if the record has
// the form.
func (r *Record) SeedForm(id FormID, budget *Budget, b []byte) {
	f := r.node(id)
	if f.bytes.CompareAndSwap(nil, &b) {
		budget.charge(f, len(b))
	}
}

// Adopt shares the forms of another record with the same bytes, if r has no forms.
func (r *Record) Adopt(from *Record) {
	if r != from {
		r.forms.CompareAndSwap(nil, from.forms.Load())
	}
}

// ReleaseForms drops the encoded forms, for a record that was replaced. Later calls of Form encode it again.
func (r *Record) ReleaseForms() { r.forms.Store(nil) }

// form returns the node of a form, or nil.
func (r *Record) form(id FormID) *form {
	for f := r.forms.Load(); f != nil; f = f.next {
		if f.id == id {
			return f
		}
	}
	return nil
}

// node returns the node of a form. It adds one if there is none.
func (r *Record) node(id FormID) *form {
	var added *form
	for {
		head := r.forms.Load()
		for f := head; f != nil; f = f.next {
			if f.id == id {
				return f
			}
		}
		if added == nil {
			added = &form{id: id}
		}
		added.next = head
		if r.forms.CompareAndSwap(head, added) {
			return added
		}
	}
}
