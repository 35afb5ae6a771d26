package authentication

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/klog/v2"

	"triplane.dev/generic/base/user"
)

// TokenFile maps the SHA-256 digests of tokens to users. Because of the digests, the time of a lookup reveals
// nothing about a token.
type TokenFile map[[sha256.Size]byte]*Response

// ReadTokenFile reads --token-auth-file, which has lines of the form
//
//	token,user name,user UID,"group,group"
//
// The groups are optional. Lines without a token are skipped.
func ReadTokenFile(file string) (TokenFile, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read-only
	return parseTokens(f, file)
}

func parseTokens(r io.Reader, file string) (TokenFile, error) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = -1
	tokens := TokenFile{}
	for number := 1; ; number++ {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return tokens, nil
		}
		if err != nil {
			return nil, err
		}
		if len(fields) < 3 {
			return nil, fmt.Errorf("token file '%s' must have at least 3 columns (token, user name, user uid), found %d", file,
				len(fields))
		}
		if fields[0] == "" {
			klog.InfoS("Skipped token file record, the token is empty", "file", file, "record", number)
			continue
		}
		digest := sha256.Sum256([]byte(fields[0]))
		if _, twice := tokens[digest]; twice {
			klog.InfoS("Replaced duplicate token of token file", "file", file, "record", number)
		}
		u := &user.Info{Name: fields[1], UID: fields[2]}
		if len(fields) >= 4 {
			// An empty column is one group with an empty name, as in kube-apiserver.
			u.Groups = strings.Split(fields[3], ",")
		}
		tokens[digest] = &Response{User: u}
	}
}

// AuthenticateToken implements Token.
func (t TokenFile) AuthenticateToken(_ context.Context, token string) (*Response, error) {
	return t[sha256.Sum256([]byte(token))], nil
}
