package private

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stranger is an id without a user.
const stranger = 54321

func TestKey(t *testing.T) {
	for _, c := range []struct {
		dir, file os.FileMode
		want      string
	}{
		{0o700, 0o600, ""},
		{0o700, 0o400, ""},
		{0o700, 0o640, "chmod 600"},
		{0o755, 0o604, "chmod 600"},
		{0o755, 0o644, "chmod 600"},
		{0o770, 0o660, ""}, // a volume of a container
		{0o770, 0o664, "chmod 600"},
		{0o777, 0o640, "chmod o-w"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "ca.key")
		if err := os.WriteFile(file, []byte("k"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, mode := range map[string]os.FileMode{file: c.file, dir: c.dir} {
			if err := os.Chmod(name, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := Key(file); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v in %v: %v", c.file, c.dir, err)
		}
	}
	if err := Key(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("a key that is not there: %v", err)
	}
}

// Directories, links to directories, and keys of other users are rejected. Only root can change owners; other
// users test with files of root.
// files away; others can look at what is root's.
func TestOtherOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		if _, err := Directory("/"); err != nil {
			t.Errorf("what is root's: %v", err)
		}
		return
	}
	dir := t.TempDir()
	ours, theirs, link, key := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs"), filepath.Join(dir, "link"), filepath.Join(dir, "key")
	for _, err := range []error{
		os.Mkdir(ours, 0o700), os.Mkdir(theirs, 0o700), os.Symlink(ours, link), os.WriteFile(key, nil, 0o600),
		os.Chown(theirs, stranger, -1), os.Lchown(link, stranger, -1), os.Chown(key, stranger, -1),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{theirs, link} {
		if _, err := Directory(name); err == nil || !strings.Contains(err.Error(), "belongs to the user with id 54321") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Key(key); err == nil || !strings.Contains(err.Error(), "belongs to the user with id 54321") {
		t.Errorf("their key: %v", err)
	}
	if _, err := Directory(ours); err != nil {
		t.Error(err)
	}
	if err := os.Lchown(link, 0, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := Directory(link); err != nil {
		t.Errorf("a link of this user: %v", err)
	}
}
