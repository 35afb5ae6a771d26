package podspec

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	imageName   = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$`)
	imageDigest = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$`)
)

// maxImagePath is the most characters that the path of an image in its registry
// has.
const maxImagePath = 255

// pullPolicy is Always for images whose tag is, or is meant to be, "latest":
// they change under their name. An image that cannot be parsed has no tag.
func pullPolicy(image string) corev1.PullPolicy {
	if isLatest(image) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func isLatest(image string) bool {
	name, digest, digested := strings.Cut(image, "@")
	if digested && !imageDigest.MatchString(digest) {
		return false
	}
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		if name, tag = name[:i], name[i+1:]; tag != "latest" {
			return false
		}
	}
	if !imageName.MatchString(name) || len(imagePath(name)) > maxImagePath {
		return false
	}
	return tag == "latest" || tag == "" && !digested
}

// imagePath returns the path of an image in its registry. An image that names
// neither registry nor folder is one of Docker's library.
func imagePath(name string) string {
	registry, path, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		return "library/" + name
	case strings.ContainsAny(registry, ".:") || registry == "localhost" || strings.ToLower(registry) != registry:
		return path
	}
	return name
}
