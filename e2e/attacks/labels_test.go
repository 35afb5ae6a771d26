package attacks

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Watches of invented resources with a bad token. The attacker would make each of
// them a label of /metrics for ever: 60 requests of 800 KB filled gigabytes of
// memory without credentials.
func TestInventedLabels(t *testing.T) {
	s := start(t)
	before := s.get("/metrics")
	for i := range 60 {
		path := fmt.Sprintf("/api/v1/%s%d?watch=1", strings.Repeat("x", 800<<10), i)
		token := []string{"", "Authorization: Bearer wrong\r\n"}[i%2]
		if _, _, err := s.ask("GET "+path+" HTTP/1.1\r\nHost: x\r\n"+token+"\r\n", 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	// What the server itself does just after its start adds series, too, but not a
	// fiftieth of what was sent.
	after := s.get("/metrics")
	if strings.Contains(after, "xxxx") || len(after) > len(before)+1<<20 {
		t.Errorf("/metrics had %d bytes and has %d", len(before), len(after))
	}
}
