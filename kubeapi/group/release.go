package group

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
)

// Release is which release of Kubernetes the server is like. The zero value is the
// present one.
type Release struct {
	// Emulated is the release whose API is served, MinCompatibility the oldest one
	// that is to read what is stored; nil means the present one, and the one before.
	Emulated, MinCompatibility *version.Version
	// KeepRemoved serves what the emulated release was the first to remove.
	KeepRemoved bool
	// ForwardCompatible serves later versions of what is served, too.
	ForwardCompatible bool
	// Forced reports whether a version is to be served though it came after the
	// emulated release; nil forces none.
	Forced func(gv schema.GroupVersion, resource string) bool
}

// AtLeast reports whether the API that is served is that of a release or of a later one.
func (r Release) AtLeast(major, minor uint) bool {
	return r.Emulated == nil || !r.Emulated.LessThan(version.MajorMinor(major, minor))
}

// introduced and removed are what the Go types of API objects say of themselves.
type introduced interface {
	APILifecycleIntroduced() (major, minor int)
}
type removed interface {
	APILifecycleRemoved() (major, minor int)
}

// has reports whether a kind exists in a release: it came with it or before, and was not removed, or not before it if
// kept. nil is the present release, which has all, and what has no Go type has no lifecycle.
func has(release *version.Version, kept bool, scheme *runtime.Scheme, kind schema.GroupVersionKind) bool {
	obj, err := scheme.New(kind)
	if release == nil || err != nil {
		return true
	}
	if i, ok := obj.(introduced); ok && release.LessThan(of(i.APILifecycleIntroduced())) {
		return false
	}
	r, ok := obj.(removed)
	if !ok {
		return true
	}
	end := of(r.APILifecycleRemoved())
	return release.LessThan(end) || kept && release.EqualTo(end)
}

// ComesAfter reports whether a release has no kind of a version of a group, but later ones have.
func ComesAfter(release *version.Version, scheme *runtime.Scheme, gv schema.GroupVersion) bool {
	later := false
	for kind := range scheme.KnownTypes(gv) {
		obj, err := scheme.New(gv.WithKind(kind))
		i, ok := obj.(introduced)
		if err != nil || !ok {
			continue
		}
		if has(release, false, scheme, gv.WithKind(kind)) {
			return false
		}
		later = later || release.LessThan(of(i.APILifecycleIntroduced()))
	}
	return later
}

func of(major, minor int) *version.Version {
	return version.MajorMinor(uint(max(major, 0)), uint(max(minor, 0)))
}

// available are those of the versions, preferred first, in which a resource is served.
func (d *Deps) available(versions []schema.GroupVersion, resource, kind string) []schema.GroupVersion {
	r, out := d.Release, []schema.GroupVersion{}
	later := false // a version that the emulated release has comes behind
	for _, gv := range slices.Backward(versions) {
		if !d.Scheme.Recognizes(gv.WithKind(kind)) {
			continue
		}
		enabled, has := d.serves(gv, resource), has(r.Emulated, r.KeepRemoved, d.Scheme, gv.WithKind(kind))
		switch {
		case !enabled:
			continue
		case has:
			later = later || !strings.Contains(gv.Version, "alpha")
		case r.Forced != nil && r.Forced(gv, resource), r.ForwardCompatible && later:
		default:
			continue
		}
		out = append(out, gv)
	}
	slices.Reverse(out)
	return out
}

// storageVersion is the version in which a kind is stored: the first that the oldest release that is to read it has. If
// that has none, or alpha versions only, it is the first that the emulated release has, an alpha version if there is no
// other.
func (d *Deps) storageVersion(kinds []schema.GroupVersionKind) schema.GroupVersionKind {
	least := d.Release.MinCompatibility
	if least == nil {
		least = previousRelease
	}
	for _, release := range []*version.Version{least, d.Release.Emulated} {
		for _, k := range kinds {
			if has(release, false, d.Scheme, k) && !strings.Contains(k.Version, "alpha") {
				return k
			}
		}
	}
	for _, k := range kinds {
		if has(d.Release.Emulated, false, d.Scheme, k) {
			return k
		}
	}
	return kinds[0]
}

// previousRelease is the one before that whose API is served.
var previousRelease = version.MajorMinor(1, 36)
