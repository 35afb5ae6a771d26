package embedded

import "testing"

// The log for followers is limited by entries and by bytes. A few entries of any size are always kept.
func TestKeptLogIsBounded(t *testing.T) {
	for _, test := range []struct {
		size  int64
		least uint64
		most  uint64
	}{
		{100, followersEntries, followersEntries},
		{50_000, followersBytes / 50_000, followersBytes/50_000 + markEvery/50_000 + 2},
		{900_000, followersBytes / 900_000, followersBytes/900_000 + markEvery/900_000 + 2},
		{10 << 20, keptEntries, keptEntries},
	} {
		k, end, kept := &keptLog{}, logEnd{}, uint64(0)
		for range 20_000 {
			end.index++
			end.bytes += test.size
			kept = k.keep(end)
		}
		if kept < test.least || kept > test.most {
			t.Errorf("%d entries of %d bytes are kept, want %d to %d", kept, test.size, test.least, test.most)
		}
		if len(k.marks) > 100 {
			t.Errorf("%d marks", len(k.marks))
		}
		for range 2 * followersEntries { // after which large ones are long past
			end.index++
			end.bytes += 100
			kept = k.keep(end)
		}
		if kept != followersEntries {
			t.Errorf("%d small entries are kept after those of %d bytes", kept, test.size)
		}
	}
}
