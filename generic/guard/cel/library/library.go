package library

import (
	"net/url"
	"reflect"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Kubernetes returns the functions of all libraries but Authorizer and JSONPatch.
func Kubernetes() cel.EnvOption {
	return func(e *cel.Env) (*cel.Env, error) {
		for _, options := range [][]cel.EnvOption{lists(), regex(), urls(), quantities(), addresses(), semvers(), formats()} {
			var err error
			for _, o := range options {
				if e, err = o(e); err != nil {
					return nil, err
				}
			}
		}
		return e, nil
	}
}

// opaque is a CEL value of an opaque Go type.
type opaque[T any] struct {
	typ   *types.Type
	v     T
	equal func(a, b T) bool
}

func (o opaque[T]) ConvertToNative(t reflect.Type) (any, error) {
	if reflect.TypeOf(o.v).AssignableTo(t) {
		return o.v, nil
	}
	return nil, errNoConversion
}

func (o opaque[T]) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return types.NewTypeTypeWithParam(o.typ)
	}
	if t == o.typ {
		return o
	}
	return types.NewErr("type conversion error from '%s' to '%s'", o.typ, t)
}

func (o opaque[T]) Equal(other ref.Val) ref.Val {
	p, ok := other.(opaque[T])
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(o.equal(o.v, p.v))
}

func (o opaque[T]) Type() ref.Type { return o.typ }

func (o opaque[T]) Value() any { return o.v }

// global and member declare one overload of a function and of a method.
func global(name, id string, args []*types.Type, result *types.Type, f func(args ...ref.Val) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.Overload(id, args, result, cel.FunctionBinding(f)))
}

func member(name, id string, args []*types.Type, result *types.Type, f func(args ...ref.Val) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(id, args, result, cel.FunctionBinding(f)))
}

func text(v ref.Val) string { s, _ := v.(types.String); return string(s) }

type ts = []*types.Type

var str = types.StringType

// patternSearch is an overload that looks for a pattern, its second argument.
type patternSearch struct {
	name, id string
	args     ts
	result   *types.Type
	find     func(re *regexp.Regexp, args []ref.Val) ref.Val
}

func patternSearches() []patternSearch {
	stringList := types.NewListType(str)
	all := func(re *regexp.Regexp, v ref.Val, n int) ref.Val {
		found := re.FindAllString(text(v), n)
		if found == nil {
			found = []string{}
		}
		return types.NewStringList(types.DefaultTypeAdapter, found)
	}
	return []patternSearch{
		{"find", "string_find_string", ts{str, str}, str,
			func(re *regexp.Regexp, a []ref.Val) ref.Val { return types.String(re.FindString(text(a[0]))) }},
		{"findAll", "string_find_all_string", ts{str, str}, stringList,
			func(re *regexp.Regexp, a []ref.Val) ref.Val { return all(re, a[0], -1) }},
		{"findAll", "string_find_all_string_int", ts{str, str, types.IntType}, stringList,
			func(re *regexp.Regexp, a []ref.Val) ref.Val {
				n, _ := a[2].(types.Int)
				return all(re, a[0], int(n))
			}},
	}
}

// regex returns the searches. Patterns that are not constant are not cached: they are few and short.
func regex() []cel.EnvOption {
	var options []cel.EnvOption
	for _, s := range patternSearches() {
		options = append(options, member(s.name, s.id, s.args, s.result, func(a ...ref.Val) ref.Val {
			re, err := regexp.Compile(text(a[1]))
			if err != nil {
				return types.NewErr("Illegal regex: %v", err.Error())
			}
			return s.find(re, a)
		}))
	}
	return options
}

// ConstantPatterns compile the constant patterns of searches once. An expression with an invalid one is no program.
func ConstantPatterns() []*interpreter.RegexOptimization {
	var all []*interpreter.RegexOptimization
	for _, s := range patternSearches() {
		all = append(all, &interpreter.RegexOptimization{Function: s.name, OverloadID: s.id, RegexIndex: 1,
			Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
				re, err := regexp.Compile(pattern)
				if err != nil {
					return nil, err
				}
				return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(),
					func(a ...ref.Val) ref.Val { return s.find(re, a) }), nil
			}})
	}
	return all
}

var urlType = types.NewOpaqueType("kubernetes.URL")

func parseURL(s string) (*url.URL, error) {
	u, err := url.ParseRequestURI(s)
	if err != nil {
		return nil, err
	}
	return u, nil
}

func urls() []cel.EnvOption {
	get := func(name string, f func(*url.URL) string) cel.EnvOption {
		return member(name, "url_"+name, ts{urlType}, str, func(a ...ref.Val) ref.Val {
			return types.String(f(a[0].(opaque[*url.URL]).v))
		})
	}
	return []cel.EnvOption{
		global("url", "string_to_url", ts{str}, urlType, func(a ...ref.Val) ref.Val {
			u, err := parseURL(text(a[0]))
			if err != nil {
				return types.NewErr("URL parse error during conversion from string: %v", err)
			}
			return opaque[*url.URL]{urlType, u, func(a, b *url.URL) bool { return a.String() == b.String() }}
		}),
		global("isURL", "is_url_string", ts{str}, types.BoolType, func(a ...ref.Val) ref.Val {
			_, err := parseURL(text(a[0]))
			return types.Bool(err == nil)
		}),
		get("getScheme", func(u *url.URL) string { return u.Scheme }),
		get("getHost", func(u *url.URL) string { return u.Host }),
		get("getHostname", func(u *url.URL) string { return u.Hostname() }),
		get("getPort", func(u *url.URL) string { return u.Port() }),
		get("getEscapedPath", func(u *url.URL) string { return u.EscapedPath() }),
		member("getQuery", "url_getQuery", ts{urlType}, types.NewMapType(str, types.NewListType(str)),
			func(a ...ref.Val) ref.Val {
				return types.DefaultTypeAdapter.NativeToValue(map[string][]string(a[0].(opaque[*url.URL]).v.Query()))
			}),
	}
}
