package batch

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // time zones are the same on every machine

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/workload"
)

// maxCronJobName leaves room for the time that the names of its jobs end with.
const maxCronJobName = 52

const zoneInSchedule = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"

// cronJobKind declares the CronJob; o says what its pods may be.
func cronJobKind(o podspec.Options) kind.Kind[*batchv1.CronJob] {
	type cronJob = *batchv1.CronJob
	return kind.Kind[cronJob]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"cj"}, Categories: []string{"all"}},
		Representation: kind.Typed[cronJob]{Former: kind.SameFields[cronJob]("v1beta1"),
			MetadataOnUpdate: kind.MetadataChange, MetadataOnStatus: kind.MetadataOnce},
		Write: kind.Write[cronJob]{
			Default:          defaultCronJob,
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Validate: workload.Validate(o, validateCronJob),
			Warnings: cronJobWarnings,
		},
		Columns: workload.Columns(show.Path("spec.schedule"),
			show.FieldOr("Timezone", "spec.timeZone", show.None),
			kind.Column{Name: "Suspend", Type: "boolean", Description: ".spec.suspend", Cell: suspended},
			show.Path("status.active"),
			show.FieldOr("Last Schedule", "status.lastScheduleTime", show.None),
			show.Wide(show.Path("spec.jobTemplate.spec.selector"))),
		Status: &kind.Subresource[cronJob]{},
	}
}

func defaultCronJob(c *batchv1.CronJob) {
	s := &c.Spec
	podspec.Default(&s.JobTemplate.Spec.Template)
	defaultPodFailurePolicy(s.JobTemplate.Spec.PodFailurePolicy)
	if s.ConcurrencyPolicy == "" {
		s.ConcurrencyPolicy = batchv1.AllowConcurrent
	}
	defaults.Set(&s.Suspend, false)
	defaults.Set(&s.SuccessfulJobsHistoryLimit, 3)
	defaults.Set(&s.FailedJobsHistoryLimit, 1)
}

func validateCronJob(o podspec.Options, c, old *batchv1.CronJob) field.ErrorList {
	path := field.NewPath("spec")
	if old != nil {
		return validateCronJobSpec(o, &c.Spec, &old.Spec, path)
	}
	errs := validateCronJobSpec(o, &c.Spec, nil, path)
	if len(c.Name) > maxCronJobName {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name,
			fmt.Sprintf("must be no more than %d characters", maxCronJobName)))
	}
	return errs
}

func validateCronJobSpec(o podspec.Options, s, old *batchv1.CronJobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Schedule != "" {
		errs = append(errs, validateSchedule(s, old, path.Child("schedule"))...)
	}
	errs = append(errs, check.NonNegativePtr(s.StartingDeadlineSeconds, path.Child("startingDeadlineSeconds"))...)
	if s.TimeZone != nil && (old == nil || check.Differs(s.TimeZone, old.TimeZone)) {
		errs = append(errs, validateTimeZone(*s.TimeZone, path.Child("timeZone"))...)
	}
	if s.ConcurrencyPolicy == "" {
		errs = append(errs, field.Required(path.Child("concurrencyPolicy"), ""))
	} else {
		errs = append(errs, check.OneOf(s.ConcurrencyPolicy, path.Child("concurrencyPolicy"), batchv1.AllowConcurrent,
			batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)...)
	}
	job := path.Child("jobTemplate", "spec")
	errs = append(errs, validateJobTemplateSpec(o, &s.JobTemplate.Spec, job)...)
	if sel := s.JobTemplate.Spec.Selector; sel != nil {
		errs = append(errs, field.Invalid(job.Child("selector"), sel, "`selector` will be auto-generated"))
	}
	if ptr.Deref(s.JobTemplate.Spec.ManualSelector, false) {
		errs = append(errs, field.NotSupported(job.Child("manualSelector"), true, []string{"nil", "false"}))
	}
	errs = append(errs, check.NonNegativePtr(s.SuccessfulJobsHistoryLimit, path.Child("successfulJobsHistoryLimit"))...)
	errs = append(errs, check.NonNegativePtr(s.FailedJobsHistoryLimit, path.Child("failedJobsHistoryLimit"))...)
	if s.Schedule == "" {
		errs = append(errs, field.Required(path.Child("schedule"), ""))
	}
	var oldJob *batchv1.JobSpec
	if old != nil {
		oldJob = &old.JobTemplate.Spec
	}
	return append(errs, declaredScheduling(&s.JobTemplate.Spec, oldJob, job.Child("scheduling"))...)
}

func validateSchedule(s, old *batchv1.CronJobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if err := checkSchedule(s.Schedule); err != nil {
		errs = append(errs, field.Invalid(path, s.Schedule, err.Error()))
	}
	if !strings.Contains(s.Schedule, "TZ") {
		return errs
	}
	if old == nil || !strings.Contains(old.Schedule, "TZ") {
		return append(errs, field.Invalid(path, s.Schedule, zoneInSchedule))
	}
	if s.TimeZone != nil {
		errs = append(errs, field.Invalid(path, s.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	}
	return errs
}

func validateTimeZone(zone string, path *field.Path) field.ErrorList {
	if zone == "" {
		return field.ErrorList{field.Invalid(path, zone, "timeZone must be nil or non-empty string")}
	}
	var errs field.ErrorList
	if strings.EqualFold(zone, "Local") {
		errs = append(errs, field.Invalid(path, zone,
			"timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	wellFormed := regexp.MustCompile(`^[A-Za-z.\-_0-9+]+(/[A-Za-z.\-_0-9+]+)*$`)
	if !wellFormed.MatchString(zone) || strings.Contains(zone, "..") {
		return append(errs, field.Invalid(path, zone, "unknown time zone "+zone))
	}
	if _, err := time.LoadLocation(zone); err != nil {
		errs = append(errs, field.Invalid(path, zone, err.Error()))
	}
	return errs
}

func cronJobWarnings(_ context.Context, c, old *batchv1.CronJob) []string {
	warnings := workload.TemplateWarnings(c, old, &c.Spec.JobTemplate.Spec.Template,
		field.NewPath("spec", "jobTemplate", "spec", "template"))
	if old == nil {
		warnings = append(workload.NameWarnings(c.Name), warnings...)
	}
	if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
		warnings = append(warnings, "spec.schedule: "+zoneInSchedule)
	}
	return warnings
}

func suspended(obj any, _ func(metav1.Time) string) any {
	switch s := obj.(*batchv1.CronJob).Spec.Suspend; {
	case s == nil:
		return "<unset>"
	case *s:
		return "True"
	default:
		return "False"
	}
}
