package podspec

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	imageName = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$`)
	imageTag  = regexp.MustCompile(`^[\w][\w.-]{0,127}$`)
)

// pullPolicy is Always for images whose tag is, or is meant to be, "latest":
// they change under their name. An image that cannot be parsed has no tag.
func pullPolicy(image string) corev1.PullPolicy {
	if isLatest(image) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func isLatest(image string) bool {
	name, _, digested := strings.Cut(image, "@")
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
		if !imageTag.MatchString(tag) {
			return false
		}
	}
	if !imageName.MatchString(name) {
		return false
	}
	return tag == "latest" || tag == "" && !digested
}
