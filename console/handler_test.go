package console

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
)

func get(method, path string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Header = header
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

// The pages do not use what their Content-Security-Policy forbids.
func TestPagesKeepTheirPolicy(t *testing.T) {
	inline := regexp.MustCompile(`(?i)<script>|<style| style="| on\w+="|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|localStorage|sessionStorage|document\.cookie|https?://(?:[a-z]+\.)`)
	for _, files := range []fs.FS{assets, swagger} {
		err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !regexp.MustCompile(`\.(html|js)$`).MatchString(path) {
				return err
			}
			content, err := fs.ReadFile(files, path)
			text := regexp.MustCompile(`http://www\.w3\.org/\S+`).ReplaceAllString(string(content), "")
			if found := inline.FindString(text); found != "" {
				t.Errorf("%s has %q", path, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Compressed files have the same content for clients that do not accept gzip.
func TestCompressedFiles(t *testing.T) {
	packed := get("GET", "/swagger-ui/swagger-ui.css", http.Header{"Accept-Encoding": {"br, gzip;q=1"}})
	plain := get("GET", "/swagger-ui/swagger-ui.css", http.Header{})
	if packed.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" {
		t.Errorf("encodings %q and %q", packed.Header().Get("Content-Encoding"), plain.Header().Get("Content-Encoding"))
	}
	content, err := unpack(packed.Body.Bytes())
	if err != nil || string(content) != plain.Body.String() || len(content) < 100000 {
		t.Errorf("%d bytes unpacked, %d plain, %v", len(content), plain.Body.Len(), err)
	}
	if head := get("HEAD", "/console/app.js", http.Header{}); head.Body.Len() != 0 || head.Header().Get("Content-Length") == "" {
		t.Error("HEAD is answered with a body, or without a length")
	}
}

// The files of the pages are small.
func TestAssetsAreSmall(t *testing.T) {
	var total int64
	for _, files := range []fs.FS{assets, swagger} {
		err := fs.WalkDir(files, ".", func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			total += info.Size()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if total > 3<<20 {
		t.Errorf("the pages have %d bytes", total)
	}
}
