package library

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// JSONPatch returns the function jsonpatch.escapeKey, which escapes a key for a JSON pointer.
func JSONPatch() cel.EnvOption {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	return global("jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", ts{str}, str, func(a ...ref.Val) ref.Val {
		return types.String(escape.Replace(text(a[0])))
	})
}
