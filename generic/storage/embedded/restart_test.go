package embedded

import (
	"fmt"
	"testing"
)

// TestRestartsWithALongLog restarts repeatedly with a log that was never truncated, whose replay overlaps with
// campaigning.
func TestRestartsWithALongLog(t *testing.T) {
	dir := t.TempDir()
	const rounds, writes = 6, 250
	for round := range rounds {
		s, err := Start(t.Context(), Config{Dir: dir})
		if err != nil {
			t.Fatalf("start %d: %v", round, err)
		}
		for i := range writes {
			if _, err := s.Backend().Create(t.Context(), fmt.Sprintf("/r/%d-%d", round, i), []byte("x"), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
