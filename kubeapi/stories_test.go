package kubeapi_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triplane.dev/kubeapi/kindtest"
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

// TestStoriesWithout plays stories on servers where the feature that a file is named after is off.
func TestStoriesWithout(t *testing.T) {
	files, err := filepath.Glob("testdata/without/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no stories", err)
	}
	for _, file := range files {
		off := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(off, func(t *testing.T) {
			without := func(gate string) bool { return gate != off && enabled(gate) }
			kindtest.Play(t, startServerOver(t, without, asItIs), file, *rewrite)
		})
	}
}

// TestEveryKindHasAStory looks for a request that creates an object of each
// resource that is served, or reads it where none can be created.
func TestEveryKindHasAStory(t *testing.T) {
	shown := map[string]bool{}
	for _, file := range stories(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range request.FindAllStringSubmatch(string(text), -1) {
			shown[m[1]+m[2]] = true
		}
	}
	lists := discovered(t)
	for _, list := range lists {
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") && !shown[list.GroupVersion+"/"+r.Name] {
				t.Errorf("no story of %s in %s", r.Name, list.GroupVersion)
			}
		}
	}
}

// request is the request line of a step, with the resource by its version.
var request = regexp.MustCompile(`(?m)^[A-Z]+ /apis?/((?:[a-z0-9.]+/)?v\d+(?:(?:alpha|beta)\d+)?/)(?:namespaces/[a-z0-9-]+/)?([a-z]+)`)

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
