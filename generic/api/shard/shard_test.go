package shard

import (
	"math"
	"slices"
	"testing"

	"triplane.dev/generic/storage"
)

func TestParseShard(t *testing.T) {
	const zero, half, end = "0x0000000000000000", "0x8000000000000000", "0x10000000000000000"
	uid := func(start, end string) string {
		return "shardRange(object.metadata.uid, '" + start + "', '" + end + "')"
	}
	lower, upper := storage.HashRange{Last: math.MaxInt64}, storage.HashRange{First: 1 << 63, Last: math.MaxUint64}
	for selector, want := range map[string][]storage.HashRange{
		uid(zero, half): {lower},
		uid(half, end):  {upper},
		uid(zero, half) + " || " + uid(half, end):                               {lower, upper},
		"shardRange(object.metadata.namespace, '" + zero + "', '" + half + "')": {lower},
	} {
		shard, said, err := Parse(" " + selector)
		if err != nil || said != selector || !slices.Equal(shard.Ranges, want) {
			t.Errorf("%s: %+v, %q, %v", selector, shard, said, err)
		}
	}
	for _, selector := range []string{
		"", " ", "true", "x || y", "shardRange(", "foo()", "!" + uid(zero, half), uid(zero, half) + " && " + uid(zero, half),
		uid("0x0", half), uid("0X0000000000000000", half), uid("0x", half), uid("0x000000000000000A", half), uid(half, zero), uid(end, end), uid(zero, "0x10000000000000001"),
		"shardRange(object.metadata.name, '" + zero + "', '" + half + "')", "shardRange('x', '" + zero + "', '" + half + "')",
		"shardRange(object.metadata.uid, 0, '" + half + "')", "shardRange(object.metadata.uid, object, '" + half + "')", "object.metadata.uid.shardRange('" + zero + "', '" + half + "')",
		uid(zero, half) + " || shardRange(object.metadata.namespace, '" + zero + "', '" + half + "')",
	} {
		if shard, _, err := Parse(selector); err == nil {
			t.Errorf("%s: %+v", selector, shard)
		}
	}
}
