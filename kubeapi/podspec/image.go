package podspec

import (
	"strings"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
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
	_, tag, tagged := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	if tagged && tag != "latest" || digested && !tagged {
		return false // most images, which need not be parsed
	}
	_, err := reference.ParseNormalizedNamed(image)
	return err == nil
}
