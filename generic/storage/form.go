package storage

import "sync/atomic"

// form is a node of the record's short list of encoded forms. A node stays when
// the budget takes its bytes away.
type form struct {
	id    FormID
	used  atomic.Bool // since the budget looked last
	bytes atomic.Pointer[[]byte]
	next  *form
}

// load returns the form's bytes, nil if they are gone.
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

// Form returns the record in a wire form, encoding it at most once while the
// form is kept. The bytes are shared: nobody may change them.
func (r *Record) Form(id FormID, budget *Budget, encode func(*Record) ([]byte, error)) ([]byte, error) {
	if f := r.form(id); f != nil {
		if b := f.load(); b != nil {
			return b, nil
		}
	}
	b, err := encode(r)
	if err != nil {
		return nil, err
	}
	r.SeedForm(id, budget, b)
	return b, nil
}

// SeedForm keeps bytes that the caller has encoded already, as after a write.
// Where the record has the form, nothing changes.
func (r *Record) SeedForm(id FormID, budget *Budget, b []byte) {
	f := r.node(id)
	if f.bytes.CompareAndSwap(nil, &b) {
		budget.charge(f, len(b))
	}
}

// Adopt takes over the forms of another record of the same bytes, if this one
// has none yet.
func (r *Record) Adopt(from *Record) {
	if r != from {
		r.forms.CompareAndSwap(nil, from.forms.Load())
	}
}

// ReleaseForms forgets the encoded forms, as of a record that is no longer what
// readers get. They are encoded again if somebody asks all the same.
func (r *Record) ReleaseForms() { r.forms.Store(nil) }

// form returns the node of a form, nil if there is none.
func (r *Record) form(id FormID) *form {
	for f := r.forms.Load(); f != nil; f = f.next {
		if f.id == id {
			return f
		}
	}
	return nil
}

// node returns the node of a form, adding it where there is none.
func (r *Record) node(id FormID) *form {
	var mine *form
	for {
		head := r.forms.Load()
		for f := head; f != nil; f = f.next {
			if f.id == id {
				return f
			}
		}
		if mine == nil {
			mine = &form{id: id}
		}
		mine.next = head
		if r.forms.CompareAndSwap(head, mine) {
			return mine
		}
	}
}
