package openapi

import "testing"

func TestArticle(t *testing.T) {
	for noun, want := range map[string]string{"Pod": " a ", "APIService": " an ", "Endpoints": " ", "IngressClass": " an ", "StorageClass": " a "} {
		if got := Article(noun); got != want {
			t.Errorf("%s: %q", noun, got)
		}
	}
}
