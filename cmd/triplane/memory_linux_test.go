package main

import "testing"

func TestProgramPages(t *testing.T) {
	for _, tt := range []struct {
		line       string
		start, end uintptr
		ok         bool
	}{
		{"00400000-02a00000 r-xp 00000000 08:01 123    /usr/bin/triplane\n", 0x400000, 0x2a00000, true},
		{"02a00000-04a00000 r--p 02600000 08:01 123    /usr/bin/triplane\n", 0x2a00000, 0x4a00000, true},
		{"04a00000-04b00000 rw-p 04600000 08:01 123    /usr/bin/triplane\n", 0, 0, false}, // variables
		{"7f0000000000-7f0000001000 r-xp 00000000 08:01 9 /lib/libc.so.6\n", 0, 0, false},
		{"c000000000-c004000000 rw-p 00000000 00:00 0 \n", 0, 0, false},
		{"nonsense\n", 0, 0, false},
	} {
		start, end, ok := programPages(tt.line, "/usr/bin/triplane")
		if start != tt.start || end != tt.end || ok != tt.ok {
			t.Errorf("%q: %x-%x %v", tt.line, start, end, ok)
		}
	}
}

// TestReleaseProgram runs code whose pages have just been dropped.
func TestReleaseProgram(t *testing.T) {
	releaseProgram()
	if allocated() == 0 {
		t.Error("nothing was allocated")
	}
}
