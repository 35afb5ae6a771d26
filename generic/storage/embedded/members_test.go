package embedded

import (
	"strings"
	"testing"
)

func TestMemberURL(t *testing.T) {
	for text, fine := range map[string]bool{
		"https://10.0.0.1:2380":           true,
		"https://[fd00::1]:2380":          true,
		"http://10.0.0.1:2380":            false,
		"https://10.0.0.1":                false,
		"https://user:secret@a:2380":      false,
		"https://user@10.0.0.1:2380":      false,
		"https://@10.0.0.1:2380":          false,
		"https://10.0.0.1:2380?x=y":       false,
		"https://10.0.0.1:2380?":          false,
		"https://10.0.0.1:2380#x":         false,
		"https://10.0.0.1:2380/path":      false,
		"":                                false,
		"https://a:2380,https://b:2380":   false,
		"unix://user:secret@10.0.0.1:238": false,
	} {
		urls, err := memberURL(text)
		if (err == nil) != fine || fine && len(urls) != 1 {
			t.Errorf("%q: %v, %v", text, urls, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error has the password: %v", text, err)
		}
	}
}
