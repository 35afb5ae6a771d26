// Package batch declares the kinds of the group batch/v1, Job and CronJob.
package batch
