package storage

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// continueToken says where a list in pages goes on. Its form is
// kube-apiserver's, so that clients can change servers between pages; errors name
// its type.
type continueToken struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

const continueVersion = "meta.k8s.io/v1"

// AnyRevision in a token goes on with the present state.
const AnyRevision = -1

// EncodeContinue makes a token that goes on behind the last key, and has of it what is behind
// root: the list's prefix with or without the slash at its end.
func EncodeContinue(last, root string, revision int64) (string, error) {
	rest, ok := strings.CutPrefix(last, root)
	if !ok {
		return "", fmt.Errorf("storage: key %q is not below %q", last, root)
	}
	b, err := json.Marshal(continueToken{APIVersion: continueVersion, ResourceVersion: revision, StartKey: rest + "\x00"})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// DecodeContinue reads a token: the key to go on behind, which is below prefix,
// and the revision.
func DecodeContinue(token, prefix string) (after string, revision int64, err error) {
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", 0, fmt.Errorf("continue key is not valid: %w", err)
	}
	var c continueToken
	if err := json.Unmarshal(data, &c); err != nil {
		return "", 0, fmt.Errorf("continue key is not valid: %w", err)
	}
	if c.APIVersion != continueVersion {
		return "", 0, fmt.Errorf("continue key is not valid: server does not recognize this encoded version %v", c.APIVersion)
	}
	if c.ResourceVersion == 0 {
		return "", 0, errors.New("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	}
	if c.StartKey == "" {
		return "", 0, errors.New("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	}
	// The key may not lead out of the list.
	key := c.StartKey
	if !strings.HasPrefix(key, "/") {
		key = "/" + key
	}
	if cleaned := path.Clean(key); cleaned != key {
		return "", 0, fmt.Errorf("continue key is not valid: %s", c.StartKey)
	}
	if c.ResourceVersion < 0 {
		c.ResourceVersion = AnyRevision
	}
	return prefix + before(key[1:]), c.ResourceVersion, nil
}

// before returns what a list goes on behind to begin with a key. Tokens of servers name the string
// right behind the last key that was sent; a client may name a key itself, which is then listed.
// Between that and what is returned is no key: none has a byte 0xff, which is not UTF-8.
func before(key string) string {
	last, ok := strings.CutSuffix(key, "\x00")
	if ok || key == "" {
		return last
	}
	end := len(key) - 1
	return key[:end] + string([]byte{key[end] - 1, 0xff})
}
