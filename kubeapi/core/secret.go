package core

import (
	"cmp"
	"context"
	"crypto/tls"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

// secretKind declares secrets.
func secretKind() kind.Kind[*corev1.Secret] {
	type secret = *corev1.Secret
	return kind.Kind[secret]{
		Namespaced: true,
		Write: kind.Write[secret]{
			AllowUnconditionalUpdate: kind.Always,
			Default:                  defaultSecret,
			Prepare: func(_ context.Context, s, old secret) {
				if old != nil { // a client that does not know types keeps the type
					s.Type = cmp.Or(s.Type, old.Type)
				}
			},
			Validate: validateSecret,
			Warnings: secretWarnings,
		},
		Columns: show.Columns(show.Path("type"), show.AsText(show.Path("data"))),
		Select:  kind.Select[secret]{Fields: kind.Fields[secret]("type")},
	}
}

// maxKeyText bounds the keys in PEM that are compared with their certificate: those of RSA with check.MaxRSABits
// take 13 KB, and the time that longer ones take grows faster than they do.
const maxKeyText = 16 << 10

// secretWarnings warns of a certificate and a key that do not belong together.
func secretWarnings(_ context.Context, s, _ *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS || len(s.Data[corev1.TLSPrivateKeyKey]) > maxKeyText {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// defaultSecret moves what was given as text to the data, and sets the type.
func defaultSecret(s *corev1.Secret) {
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
}
