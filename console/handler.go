package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"triplane.dev/generic/api/negotiation"
)

//go:embed assets/*.html assets/*.js assets/*.css assets/*.svg
var assets embed.FS

//go:embed swagger-ui
var swagger embed.FS

// Paths of the pages.
const (
	Path        = "/console/"
	SwaggerPath = "/swagger-ui/"
)

// Prefixes returns the paths that Handler serves.
func Prefixes() []string { return []string{Path, SwaggerPath} }

// Handler responds to GET and HEAD below Prefixes with the files of the pages. It reads and unpacks files on
// demand.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	switch p := r.URL.Path; {
	case p+"/" == Path || p+"/" == SwaggerPath:
		w.Header().Set("Location", path.Base(p)+"/") // relative, because of reverse proxies
		w.WriteHeader(http.StatusMovedPermanently)
	case strings.HasPrefix(p, Path):
		serveFile(w, r, assets, "assets", strings.TrimPrefix(p, Path))
	case strings.HasPrefix(p, SwaggerPath):
		serveFile(w, r, swagger, "swagger-ui", strings.TrimPrefix(p, SwaggerPath))
	default:
		http.NotFound(w, r)
	}
}

// policy allows pages only their own files and the API of their origin. Swagger UI has images in its style.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// swaggerPolicy is policy without trusted types, which Swagger UI's libraries do not support.
var swaggerPolicy = strings.TrimSuffix(policy, "; require-trusted-types-for 'script'")

func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
}

// serveFile responds with a file, or with its gzipped variant.
func serveFile(w http.ResponseWriter, r *http.Request, files fs.FS, dir, name string) {
	if name == "" {
		name = "index.html"
	}
	if dir == "swagger-ui" {
		w.Header().Set("Content-Security-Policy", swaggerPolicy)
	}
	content, compressed, err := read(files, path.Join(dir, name))
	if err != nil || strings.Contains(name, "/") || strings.HasSuffix(name, ".gz") {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	h.Set("ETag", etag(content))
	if r.Header.Get("If-None-Match") == h.Get("ETag") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if compressed {
		h.Set("Vary", "Accept-Encoding")
		if negotiation.AcceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
		} else if content, err = unpack(content); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	h.Set("Content-Length", fmt.Sprint(len(content)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(content) // fails only on closed connections
	}
}

// read returns the content of name, or of name.gz.
func read(files fs.FS, name string) (content []byte, compressed bool, err error) {
	if content, err = fs.ReadFile(files, name); err == nil {
		return content, false, nil
	}
	content, err = fs.ReadFile(files, name+".gz")
	return content, true, err
}

func unpack(content []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// contentTypes makes content types independent of the host's configuration.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

func contentType(name string) string {
	if t, ok := contentTypes[path.Ext(name)]; ok {
		return t
	}
	return "application/octet-stream"
}

// etag returns an ETag of the content.
func etag(content []byte) string {
	return fmt.Sprintf(`"%08x-%x"`, crc32.ChecksumIEEE(content), len(content))
}
