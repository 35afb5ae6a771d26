// Package batch declares the kinds of the group batch/v1, Job and CronJob.
//
// A Job's selector and the labels of its pods are made of its UID, so that Jobs do
// not mix up their pods; a client's own selector is accepted with manualSelector
// alone. The specification is fixed except for the fields that say how the Job continues. The
// status is a machine of states: a Job ends once, complete or failed, with the
// conditions and times that belong to it. Dependents of a Job are orphaned by
// default, with a warning.
package batch
