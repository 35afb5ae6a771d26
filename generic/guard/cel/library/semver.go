package library

import (
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var semverType = types.NewOpaqueType("kubernetes.Semver")

// parseSemver parses a version. If the second argument is true, it accepts a leading v, missing numbers and
// leading zeros.
func parseSemver(a []ref.Val) (semver.Version, error) {
	s := text(a[0])
	if len(a) < 2 || a[1] != types.True {
		return semver.Parse(s)
	}
	s = strings.TrimPrefix(s, "v")
	parts := strings.SplitN(s, ".", 3)
	for i, p := range parts {
		if len(p) > 1 {
			if p = strings.TrimLeft(p, "0"); p == "" || !strings.ContainsAny(p[:1], "123456789") {
				p = "0" + p
			}
			parts[i] = p
		}
	}
	if len(parts) < 3 {
		if strings.ContainsAny(parts[len(parts)-1], "+-") {
			return semver.Parse(s)
		}
		for len(parts) < 3 {
			parts = append(parts, "0")
		}
	}
	return semver.Parse(strings.Join(parts, "."))
}

func semvers() []cel.EnvOption {
	of := func(v ref.Val) semver.Version { return v.(opaque[semver.Version]).v }
	make := func(a ...ref.Val) ref.Val {
		v, err := parseSemver(a)
		if err != nil {
			return types.WrapErr(err)
		}
		return opaque[semver.Version]{semverType, v, func(a, b semver.Version) bool { return a.EQ(b) }}
	}
	valid := func(a ...ref.Val) ref.Val {
		_, err := parseSemver(a)
		return types.Bool(err == nil)
	}
	compare := func(name string, result *types.Type, f func(int) ref.Val) cel.EnvOption {
		return member(name, "semver_"+name, ts{semverType, semverType}, result,
			func(a ...ref.Val) ref.Val { return f(of(a[0]).Compare(of(a[1]))) })
	}
	number := func(name string, f func(semver.Version) uint64) cel.EnvOption {
		return member(name, "semver_"+name, ts{semverType}, types.IntType,
			func(a ...ref.Val) ref.Val { return types.Int(f(of(a[0]))) })
	}
	return []cel.EnvOption{
		global("semver", "string_to_semver", ts{str}, semverType, make),
		global("semver", "string_bool_to_semver", ts{str, types.BoolType}, semverType, make),
		global("isSemver", "is_semver_string", ts{str}, types.BoolType, valid),
		global("isSemver", "is_semver_string_bool", ts{str, types.BoolType}, types.BoolType, valid),
		compare("isGreaterThan", types.BoolType, func(c int) ref.Val { return types.Bool(c > 0) }),
		compare("isLessThan", types.BoolType, func(c int) ref.Val { return types.Bool(c < 0) }),
		compare("compareTo", types.IntType, func(c int) ref.Val { return types.Int(c) }),
		number("major", func(v semver.Version) uint64 { return v.Major }),
		number("minor", func(v semver.Version) uint64 { return v.Minor }),
		number("patch", func(v semver.Version) uint64 { return v.Patch }),
	}
}
