// Package autoscaling serves HorizontalPodAutoscaler in autoscaling/v2, the version
// of storage, and in autoscaling/v1.
//
// Version 1 has a field for the target of the CPU alone: other metrics, the behavior
// and the conditions travel in its annotations, so that an update in version 1 loses
// nothing of an object that was written in version 2.
package autoscaling
