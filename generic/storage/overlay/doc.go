// Package overlay shows the same default objects in many key spaces without storing them in each.
//
// Defaults are keys with values; With gives a key space other values of some. A Backend is a view of another one that
// has them below a prefix, at Revision, until they are changed or deleted there: then the changed value is stored, or a
// mark of the deletion. Only keys of Defaults differ from those of the backend below.
//
// A Backend is also the view of a watch cache (cache.View): its fills read the defaults, and Decode turns the changes
// of marks into deletions. A default never changes by itself, so no watch misses one.
package overlay
