package podspec

// Options are settings of the server that decide what a pod spec may say.
type Options struct {
	// AllowPrivileged permits privileged containers (--allow-privileged).
	AllowPrivileged bool
}
