package webhook

import "testing"

// FuzzAnswer reads what webhooks say: an answer that is accepted is one to the
// question, patches only where it may, and refuses with a status that can be sent.
func FuzzAnswer(f *testing.F) {
	const head = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u",`
	for _, s := range []string{
		head + `"allowed":true}}`, head + `"allowed":false,"status":{"code":99999,"message":"m"}}}`, head + `"status":{"code":-1,"reason":"r","status":"Success"}}}`,
		head + `"allowed":true,"patchType":"JSONPatch","patch":"W10="}}`, head + `"allowed":true,"patch":"W10="}}`,
		`{"response":null}`, `null`, `{"response":{"uid":"v"}}`, `[`, `{"apiVersion":1}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, mutating bool) {
		codecs, err := reviews()
		if err != nil {
			t.Fatal(err)
		}
		said := newAnswer("v1")
		if _, _, err := codecs.UniversalDeserializer().Decode(body, nil, said); err != nil {
			return
		}
		r, err := answer(said, "u", mutating)
		if err != nil {
			return
		}
		if r.UID != "u" || !mutating && r.Patch != nil {
			t.Errorf("accepted %+v", r)
		}
		if s := refusal("h", r.Result).ErrStatus; s.Code < 400 || s.Code > 999 {
			t.Errorf("refused with %+v", s)
		}
	})
}
