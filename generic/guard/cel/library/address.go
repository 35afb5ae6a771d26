package library

import (
	"fmt"
	"net/netip"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var (
	ipType   = types.NewOpaqueType("net.IP")
	cidrType = types.NewOpaqueType("net.CIDR")
)

func newIP(a netip.Addr) ref.Val {
	return opaque[netip.Addr]{ipType, a, func(a, b netip.Addr) bool { return a == b }}
}

func newCIDR(p netip.Prefix) ref.Val {
	return opaque[netip.Prefix]{cidrType, p, func(a, b netip.Prefix) bool { return a == b }}
}

func parseIP(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return a, fmt.Errorf("IP Address %q parse error during conversion from string: %w", s, err)
	case a.Zone() != "":
		return a, fmt.Errorf("IP address %q with zone value is not allowed", s)
	case a.Is4In6():
		return a, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", s)
	}
	return a, nil
}

func parseCIDR(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return p, fmt.Errorf("network address parse error during conversion from string: %w", err)
	case p.Addr().Is4In6():
		return p, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", s)
	}
	return p, nil
}

func parsed[T any](v T, err error, wrap func(T) ref.Val) ref.Val {
	if err != nil {
		return types.WrapErr(err)
	}
	return wrap(v)
}

func addressOf(v ref.Val) (netip.Addr, error) {
	if s, ok := v.(types.String); ok {
		return parseIP(string(s))
	}
	return v.(opaque[netip.Addr]).v, nil
}

func prefixOf(v ref.Val) (netip.Prefix, error) {
	if s, ok := v.(types.String); ok {
		return parseCIDR(string(s))
	}
	return v.(opaque[netip.Prefix]).v, nil
}

func addresses() []cel.EnvOption {
	is := func(name string, f func(netip.Addr) bool) cel.EnvOption {
		return member(name, "ip_"+name, ts{ipType}, types.BoolType, func(a ...ref.Val) ref.Val {
			return types.Bool(f(a[0].(opaque[netip.Addr]).v))
		})
	}
	containsIP := func(a ...ref.Val) ref.Val {
		ip, err := addressOf(a[1])
		if err != nil {
			return types.WrapErr(err)
		}
		return types.Bool(a[0].(opaque[netip.Prefix]).v.Contains(ip))
	}
	containsCIDR := func(a ...ref.Val) ref.Val {
		inner, err := prefixOf(a[1])
		if err != nil {
			return types.WrapErr(err)
		}
		outer := a[0].(opaque[netip.Prefix]).v
		return types.Bool(outer.Contains(inner.Addr()) && outer.Bits() <= inner.Bits())
	}
	return []cel.EnvOption{
		global("ip", "string_to_ip", ts{str}, ipType, func(a ...ref.Val) ref.Val {
			ip, err := parseIP(text(a[0]))
			return parsed(ip, err, newIP)
		}),
		global("isIP", "is_ip_string", ts{str}, types.BoolType, func(a ...ref.Val) ref.Val {
			_, err := parseIP(text(a[0]))
			return types.Bool(err == nil)
		}),
		global("ip.isCanonical", "ip_is_canonical", ts{str}, types.BoolType, func(a ...ref.Val) ref.Val {
			ip, err := parseIP(text(a[0]))
			if err != nil {
				return types.WrapErr(err)
			}
			return types.Bool(ip.String() == text(a[0]))
		}),
		global("string", "ip_to_string", ts{ipType}, str, func(a ...ref.Val) ref.Val {
			return types.String(a[0].(opaque[netip.Addr]).v.String())
		}),
		member("family", "ip_family", ts{ipType}, types.IntType, func(a ...ref.Val) ref.Val {
			if a[0].(opaque[netip.Addr]).v.Is4() {
				return types.Int(4)
			}
			return types.Int(6)
		}),
		is("isUnspecified", netip.Addr.IsUnspecified),
		is("isLoopback", netip.Addr.IsLoopback),
		is("isLinkLocalMulticast", netip.Addr.IsLinkLocalMulticast),
		is("isLinkLocalUnicast", netip.Addr.IsLinkLocalUnicast),
		is("isGlobalUnicast", netip.Addr.IsGlobalUnicast),
		global("cidr", "string_to_cidr", ts{str}, cidrType, func(a ...ref.Val) ref.Val {
			p, err := parseCIDR(text(a[0]))
			return parsed(p, err, newCIDR)
		}),
		global("isCIDR", "is_cidr_string", ts{str}, types.BoolType, func(a ...ref.Val) ref.Val {
			_, err := parseCIDR(text(a[0]))
			return types.Bool(err == nil)
		}),
		global("string", "cidr_to_string", ts{cidrType}, str, func(a ...ref.Val) ref.Val {
			return types.String(a[0].(opaque[netip.Prefix]).v.String())
		}),
		member("containsIP", "cidr_contains_ip_ip", ts{cidrType, ipType}, types.BoolType, containsIP),
		member("containsIP", "cidr_contains_ip_string", ts{cidrType, str}, types.BoolType, func(a ...ref.Val) ref.Val {
			if _, err := addressOf(a[1]); err != nil {
				return types.MaybeNoSuchOverloadErr(a[1]) // the same error as in kube-apiserver
			}
			return containsIP(a...)
		}),
		member("containsCIDR", "cidr_contains_cidr_cidr", ts{cidrType, cidrType}, types.BoolType, containsCIDR),
		member("containsCIDR", "cidr_contains_cidr_string", ts{cidrType, str}, types.BoolType, containsCIDR),
		member("ip", "cidr_ip", ts{cidrType}, ipType,
			func(a ...ref.Val) ref.Val { return newIP(a[0].(opaque[netip.Prefix]).v.Addr()) }),
		member("masked", "cidr_masked", ts{cidrType}, cidrType,
			func(a ...ref.Val) ref.Val { return newCIDR(a[0].(opaque[netip.Prefix]).v.Masked()) }),
		member("prefixLength", "cidr_prefix_length", ts{cidrType}, types.IntType, func(a ...ref.Val) ref.Val {
			return types.Int(a[0].(opaque[netip.Prefix]).v.Bits())
		}),
	}
}
