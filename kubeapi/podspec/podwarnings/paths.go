package podwarnings

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// placedFile is a file of a volume and what brings it there.
type placedFile struct{ path, from string }

// overlaps warns of files of one volume that hide each other.
func (w *warner) overlaps(v *corev1.Volume) {
	switch {
	case v.ConfigMap != nil:
		w.overlap(v.Name, fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name), keyFiles(v.ConfigMap.Items, ""))
	case v.Secret != nil:
		w.overlap(v.Name, fmt.Sprintf("Secret %q", v.Secret.SecretName), keyFiles(v.Secret.Items, ""))
	case v.DownwardAPI != nil:
		w.overlap(v.Name, "DownwardAPI", downwardFiles(v.DownwardAPI.Items, ""))
	case v.Projected != nil:
		var files []placedFile
		for i := range v.Projected.Sources {
			s := &v.Projected.Sources[i]
			if *s == (corev1.VolumeProjection{}) {
				w.say("volume %q (Projected) has no sources provided", v.Name)
			}
			files = append(files, projectedFiles(s)...)
		}
		w.overlap(v.Name, "Projected", files)
	}
}

func (w *warner) overlap(volume, kind string, files []placedFile) {
	for i, f := range files {
		for _, other := range files[:i] {
			if !hides(f.path, other.path) {
				continue
			}
			if f.from == "" {
				w.say("volume %q (%s): overlapping paths: %q with %q", volume, kind, f.path, other.path)
			} else {
				w.say("volume %q (%s): overlapping paths: %q (%s) with %q (%s)", volume, kind, f.path, f.from, other.path,
					other.from)
			}
		}
	}
}

// hides reports whether two paths are one, or one lies below the other.
func hides(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

func keyFiles(items []corev1.KeyToPath, from string) []placedFile {
	files := make([]placedFile, len(items))
	for i := range items {
		files[i] = placedFile{strings.TrimRight(items[i].Path, "/"), from}
	}
	return files
}

func downwardFiles(items []corev1.DownwardAPIVolumeFile, from string) []placedFile {
	files := make([]placedFile, len(items))
	for i := range items {
		files[i] = placedFile{strings.TrimRight(items[i].Path, "/"), from}
	}
	return files
}

func projectedFiles(s *corev1.VolumeProjection) []placedFile {
	switch {
	case s.ConfigMap != nil:
		return keyFiles(s.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", s.ConfigMap.Name))
	case s.Secret != nil:
		return keyFiles(s.Secret.Items, fmt.Sprintf("Secret %q", s.Secret.Name))
	case s.DownwardAPI != nil:
		return downwardFiles(s.DownwardAPI.Items, "DownwardAPI")
	case s.ServiceAccountToken != nil:
		return []placedFile{{strings.TrimRight(s.ServiceAccountToken.Path, "/"), "ServiceAccountToken"}}
	}
	return nil
}
