// Package scheduling declares the kinds of the group scheduling.k8s.io: PriorityClass
// and, where their features are on, Workload and PodGroup, whose specifications are
// fixed.
//
// Value and preemption policy are fixed, since pods carry copies of them. Names with
// the prefix "system-" and values above 1,000,000,000 are those of SystemClasses,
// which the server creates. That one class at most is the default is the work of the
// admission plugin Priority.
package scheduling
