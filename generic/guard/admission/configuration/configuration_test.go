package configuration

import (
	"k8s.io/apimachinery/pkg/runtime"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("beside.yaml", "kind: Beside")
	elsewhere := write("elsewhere.yaml", "kind: Elsewhere")
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	for name, c := range map[string]struct{ text, want, wrong string }{
		"inline":              {text: head + "- {name: P, configuration: {kind: Inline}}", want: `{"kind":"Inline"}`},
		"beside":              {text: head + "- {name: P, path: beside.yaml}", want: "kind: Beside"},
		"elsewhere":           {text: head + "- {name: P, path: " + elsewhere + "}", want: "kind: Elsewhere"},
		"twice":               {text: head + "- {name: P, path: beside.yaml}\n- {name: P, path: x}", want: "kind: Beside"},
		"another plugin":      {text: head + "- {name: Q, path: beside.yaml}"},
		"nothing":             {text: head + "- {name: P}"},
		"the former version":  {text: "apiVersion: apiserver.k8s.io/v1alpha1\nkind: AdmissionConfiguration\nplugins: [{name: P, path: beside.yaml}]", want: "kind: Beside"},
		"no file":             {text: head + "- {name: P, path: none.yaml}", wrong: "couldn't open admission plugin configuration " + filepath.Join(dir, "none.yaml")},
		"unknown field":       {text: head + "- {name: P, file: beside.yaml}", wrong: `unknown field "plugins[0].file"`},
		"another kind":        {text: "apiVersion: v1\nkind: Pod", wrong: `no kind "Pod" is registered for version "v1": expected kind AdmissionConfiguration of apiserver.config.k8s.io/v1; kind AdmissionConfiguration of apiserver.k8s.io/v1alpha1`},
		"no kind":             {text: "plugins: []", wrong: `no kind "" is registered`},
		"not YAML":            {text: "a: [", wrong: "unable to decode admission control configuration"},
		"a number for a name": {text: head + "- {name: 1}", wrong: "cannot unmarshal number"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Read(write("main.yaml", c.text), []string{"P"})
			var got []byte
			if err == nil {
				got, err = p.For("P")
			}
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Fatalf("%v, want %q", err, c.wrong)
			}
			if string(got) != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestFileOfOnePlugin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.yaml")
	if err := os.WriteFile(file, []byte("imagePolicy: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Read(file, []string{"ImagePolicyWebhook"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.For("ImagePolicyWebhook"); err != nil || string(got) != "imagePolicy: {}" {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := p.For("PodNodeSelector"); err != nil || got != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := Read(filepath.Join(filepath.Dir(file), "none"), nil); err == nil || !strings.Contains(err.Error(), "unable to read admission control configuration from") {
		t.Error(err)
	}
	if p, err := Read("", nil); err != nil || len(p.order) != 0 {
		t.Error(err)
	}
}

func TestDecode(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}
	into := struct{ A int }{A: 7}
	if err := Decode(nil, &into, kind); err != nil || into.A != 7 {
		t.Errorf("%v, %v", into, err)
	}
	if err := Decode([]byte("{apiVersion: g/v1, kind: K, A: 8}"), &into, kind); err != nil || into.A != 8 {
		t.Errorf("%v, %v", into, err)
	}
	if err := DecodeUnversioned(nil, &into); err == nil {
		t.Error("nothing was decoded")
	}
	if err := DecodeUnversioned([]byte("{A: 9, B: 1}"), &into); err != nil || into.A != 9 {
		t.Errorf("%v, %v", into, err)
	}
	if err := DecodeUnversioned([]byte("{A: []}"), &into); err == nil {
		t.Error("a list was decoded as a number")
	}
	unknown := []byte("{apiVersion: g/v1, kind: K, A: 10, B: 1}")
	if err := Decode(unknown, &into, kind); err == nil || !strings.Contains(err.Error(), `unknown field "B"`) {
		t.Error(err)
	}
	if err := DecodeLenient(unknown, &into, kind); err != nil || into.A != 10 {
		t.Errorf("%v, %v", into, err)
	}
}

func TestWithout(t *testing.T) {
	p := &Plugins{byName: map[string]pluginConfiguration{}}
	for _, name := range []string{"a", "b", "c"} {
		p.add(pluginConfiguration{Name: name, Configuration: &runtime.RawExtension{Raw: []byte(name)}})
	}
	left := p.Without("a", "c", "d")
	for name, want := range map[string]string{"a": "", "b": "b", "c": ""} {
		if got, err := left.For(name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if got, _ := p.For("a"); string(got) != "a" {
		t.Error("the configurations themselves have changed")
	}
}
