package harness

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Eventually repeats a check until it passes, for 40 seconds at most. The pauses grow with the time, since a check may
// start a program.
func Eventually(t testing.TB, check func() error) {
	t.Helper()
	for began := time.Now(); ; {
		err := check()
		if err == nil {
			return
		}
		waited := time.Since(began)
		if waited > 40*time.Second {
			t.Fatal(err)
		}
		time.Sleep(min(max(waited/8, 20*time.Millisecond), time.Second))
	}
}

// Gone waits until get reports that an object does not exist.
func Gone(t testing.TB, get func() error) {
	t.Helper()
	Eventually(t, func() error {
		err := get()
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = errors.New("still there")
		}
		return err
	})
}

// Expect fails the test for each text that a program's output lacks.
func Expect(t testing.TB, out string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in:\n%s", w, out)
		}
	}
}
