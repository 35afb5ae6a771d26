// Package informerstest has informers of the objects of a tracker, for tests.
package informerstest
