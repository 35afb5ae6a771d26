package kubeapi_test

import (
	"path/filepath"
	"testing"

	"triplane/kubeapi/kindtest"
)

var rewrite = kindtest.Rewrite()

// TestStories plays the stories of all folders on one server. With
// -run Stories/apps/deployment it plays one of them.
func TestStories(t *testing.T) {
	transport := startServer(t)
	for _, file := range stories(t) {
		folder := filepath.Dir(filepath.Dir(file))
		name := filepath.ToSlash(filepath.Join(folder, filepath.Base(file)))
		t.Run(name, func(t *testing.T) { kindtest.Play(t, transport, file, *rewrite) })
	}
}

// stories are the files of all stories.
func stories(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*/testdata/*.yaml", "*/*/testdata/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatal("there are no stories")
	}
	return files
}
