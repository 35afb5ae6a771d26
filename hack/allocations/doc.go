// Command allocations runs the benchmarks of what every request does and compares what
// they allocate with limits.txt. Times differ from hour to hour and from machine to machine;
// allocations do not, so this can fail a build.
//
// A line of limits.txt is a package, a benchmark, its allocations and its bytes per
// operation. More than a tenth above the allocations, or a quarter above the bytes, is an error
// (two allocations and 1 KiB are not); less is reported, so that the limit follows. With -update the file is written anew.
package main
