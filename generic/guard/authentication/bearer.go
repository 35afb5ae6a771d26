package authentication

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"unicode/utf8"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"triplane.dev/generic/base/request"
)

// errInvalidBearer is the error for tokens that no authenticator accepts.
var errInvalidBearer = errors.New("invalid bearer token")

// Bearer authenticates requests with the token of their Authorization header.
func Bearer(tokens Token) Request {
	return RequestFunc(func(r *http.Request) (*Response, error) {
		header := r.Header.Get("Authorization")
		token := BearerToken(header)
		if token == "" {
			if spaceBeforeToken(header) {
				request.AddWarning(r.Context(),
					"the provided Authorization header contains extra space before the bearer token, and is ignored")
			}
			return nil, nil
		}
		return acceptOrInvalid(tokens.AuthenticateToken(r.Context(), token))
	})
}

// BearerToken returns the token of an Authorization header, or "". It ignores the case of the scheme and
// everything after the token. Two spaces before the token make the header invalid.
func BearerToken(header string) string {
	header = strings.TrimSpace(header)
	scheme, rest, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	token, _, _ := strings.Cut(rest, " ")
	return token
}

// spaceBeforeToken reports whether the token is ignored because two spaces precede it.
func spaceBeforeToken(header string) bool {
	parts := strings.Split(strings.TrimSpace(header), " ")
	return len(parts) == 3 && strings.EqualFold(parts[0], "bearer") && parts[1] == ""
}

func acceptOrInvalid(response *Response, err error) (*Response, error) {
	if response == nil && err == nil {
		err = errInvalidBearer
	}
	return response, err
}

// WebSocketPrefix is the prefix of the WebSocket subprotocol that contains a token. Browsers use it because
// they cannot set headers.
const WebSocketPrefix = "base64url.bearer.authorization.k8s.io."

const protocolHeader = "Sec-WebSocket-Protocol"

// WebSocket authenticates requests with the token in a WebSocket subprotocol. If the token is valid, it removes
// the subprotocol, so that backends do not receive the token.
func WebSocket(tokens Token) Request {
	return RequestFunc(func(r *http.Request) (*Response, error) {
		if !isWebSocket(r) {
			return nil, nil
		}
		token, others, err := protocolToken(r.Header[textproto.CanonicalMIMEHeaderKey(protocolHeader)])
		if err != nil || token == "" {
			return nil, err
		}
		response, err := acceptOrInvalid(tokens.AuthenticateToken(r.Context(), token))
		if response != nil {
			r.Header.Set(protocolHeader, strings.Join(others, ","))
		}
		return response, err
	})
}

// protocolToken returns the token among the subprotocols, and the other subprotocols.
func protocolToken(headers []string) (token string, others []string, err error) {
	found := false
	for _, header := range headers {
		for _, protocol := range strings.Split(header, ",") {
			protocol = strings.TrimSpace(protocol)
			encoded, isToken := strings.CutPrefix(protocol, WebSocketPrefix)
			if !isToken {
				others = append(others, protocol)
				continue
			}
			if found {
				return "", nil, errors.New("multiple base64.bearer.authorization tokens specified")
			}
			found = true
			raw, err := base64.RawURLEncoding.DecodeString(encoded)
			if err != nil || !utf8.Valid(raw) {
				return "", nil, errors.New("invalid base64.bearer.authorization token encoding")
			}
			token = string(raw)
		}
	}
	if found && len(others) == 0 {
		return "", nil, errors.New("missing additional subprotocol")
	}
	return token, others, nil
}

func isWebSocket(r *http.Request) bool {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return false
	}
	for _, v := range r.Header["Connection"] {
		for _, option := range strings.Split(v, ",") {
			if strings.EqualFold(strings.TrimSpace(option), "upgrade") {
				return true
			}
		}
	}
	return false
}

// HeaderToken authenticates tokens, for TokenReviews, like requests with the token in the Authorization header
// and no other credential. A token with a leading space is therefore ignored, and may be anonymous.
func HeaderToken(requests Request) Token {
	return TokenFunc(func(ctx context.Context, token string) (*Response, error) {
		// Warnings about the token must not reach the client of the TokenReview.
		ctx = request.WithWarnings(ctx, &request.Warnings{})
		r := (&http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}, URL: &url.URL{}}).WithContext(ctx)
		return requests.AuthenticateRequest(r)
	})
}

// Review authenticates a token for a TokenReview. The error has the wording of the review's status.
func Review(ctx context.Context, tokens Token, token string) (*Response, error) {
	response, err := acceptOrInvalid(tokens.AuthenticateToken(ctx, token))
	if err != nil {
		// NewAggregate removes duplicates.
		return nil, utilerrors.NewAggregate([]error{errInvalidBearer, err})
	}
	return withAuthenticated(response), nil
}
