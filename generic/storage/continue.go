package storage

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// continueToken is the start of the next page of a list. It has kube-apiserver's format, so that clients can
// switch servers between pages.
type continueToken struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

const continueVersion = "meta.k8s.io/v1"

// AnyRevision in a token continues the list with the current state.
const AnyRevision = -1

// EncodeContinue returns a token for the page after the key last. The token contains the key relative to root,
// which is the list's prefix with or without its trailing slash.
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

// DecodeContinue decodes a token. It returns the key after which the page starts, which is below prefix, and
// the revision.
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
	// The key must not lead out of the list's prefix.
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

// before returns the exclusive start key for a page that begins with key. Tokens of servers have the last key
// of the page before and "\x00". A client may send any key, which then is part of the page. No key is between
// the result and key, because keys are UTF-8, which never contains the byte 0xff.
func before(key string) string {
	last, ok := strings.CutSuffix(key, "\x00")
	if ok || key == "" {
		return last
	}
	end := len(key) - 1
	return key[:end] + string([]byte{key[end] - 1, 0xff})
}
