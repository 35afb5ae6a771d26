package webhook

import "testing"

// FuzzResponse decodes responses of webhooks: an accepted response answers the request,
// has a patch only if it may, and denies with a valid HTTP status.
func FuzzResponse(f *testing.F) {
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
		review := newReview("v1")
		if _, _, err := codecs.UniversalDeserializer().Decode(body, nil, review); err != nil {
			return
		}
		r, err := readResponse(review, "u", mutating)
		if err != nil {
			return
		}
		if r.UID != "u" || !mutating && r.Patch != nil {
			t.Errorf("accepted %+v", r)
		}
		if s := denialOf("h", r.Result).ErrStatus; s.Code < 400 || s.Code > 999 {
			t.Errorf("denied with %+v", s)
		}
	})
}
