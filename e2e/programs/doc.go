// Package programs builds the programs that the end-to-end tests run: the server, its clients and
// its peers. They are built into e2e/.bin. Command build in this folder builds all of them, with a
// line each, which is what make does before the tests; it then sets $E2E_PROGRAMS, and the tests
// only use what is there. Without it, a test builds what it uses.
//
// No program is built with flags that the packages of the server are not built with, and the modules
// in e2e/tools require the versions that the main module requires: otherwise all libraries
// that they share would be compiled twice.
package programs
