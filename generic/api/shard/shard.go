package shard

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	celcommon "github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"triplane.dev/generic/storage"
)

const (
	shardRange       = "shardRange"
	shardByUID       = "object.metadata.uid"
	shardByNamespace = "object.metadata.namespace"
	// endOfHashes is the exclusive end of the last range, 2^64.
	endOfHashes = "0x10000000000000000"
)

// expressions reads expressions without macros; it bounds their depth itself.
var expressions = sync.OnceValues(func() (*parser.Parser, error) { return parser.NewParser() })

// Parse reads a shardSelector: shardRange(FIELD, 'START', 'END'), or several of one field
// with || between them. It returns the shard and the selector as it is echoed to clients.
func Parse(selector string) (*storage.Shard, string, error) {
	if strings.TrimSpace(selector) == "" {
		return nil, "", errors.New("empty shard selector is not allowed; omit the parameter for unfiltered lists")
	}
	p, err := expressions()
	if err != nil {
		return nil, "", err
	}
	parsed, errs := p.Parse(celcommon.NewTextSource(selector))
	if all := errs.GetErrors(); len(all) > 0 {
		return nil, "", fmt.Errorf("CEL parse error: %s", all[0].Message)
	}
	r := &reader{shard: &storage.Shard{}}
	if err := r.read(parsed.Expr()); err != nil {
		return nil, "", err
	}
	r.shard.ByNamespace = r.field == shardByNamespace
	return r.shard, strings.Join(r.said, " || "), nil
}

// Of reads the shard selector of a list or watch. The shard is nil if the options have none.
func Of(opts *metainternalversion.ListOptions) (*storage.Shard, string, error) {
	if opts.ShardSelector == "" {
		return nil, "", nil
	}
	shard, said, err := Parse(opts.ShardSelector)
	if err != nil {
		return nil, "", apierrors.NewBadRequest("invalid shard selector: " + err.Error())
	}
	return shard, said, nil
}

// reader collects the ranges of a selector.
type reader struct {
	shard *storage.Shard
	field string
	said  []string
}

func (p *reader) read(e ast.Expr) error {
	if e.Kind() != ast.CallKind {
		return errors.New("unexpected expression; expected shardRange() call or || operator")
	}
	call := e.AsCall()
	switch call.FunctionName() {
	case operators.LogicalOr:
		for _, arg := range call.Args() {
			if err := p.read(arg); err != nil {
				return err
			}
		}
		return nil
	case shardRange:
		if n := len(call.Args()); n != 3 || call.IsMemberFunction() {
			return fmt.Errorf("shardRange() requires exactly 3 arguments, got %d", n)
		}
		return p.add(call.Args())
	}
	return fmt.Errorf("unsupported function %q; only shardRange() and || are allowed", call.FunctionName())
}

func (p *reader) add(args []ast.Expr) error {
	field, ok := fieldPath(args[0])
	switch {
	case !ok:
		return fmt.Errorf("shardRange() first argument: expected field path (e.g. %s)", shardByUID)
	case field != shardByUID && field != shardByNamespace:
		return fmt.Errorf("unsupported field path %q; supported: %s, %s", field, shardByUID, shardByNamespace)
	case p.field != "" && p.field != field:
		return fmt.Errorf("all shard ranges must use the same field, got %q and %q", p.field, field)
	}
	p.field = field
	start, err := hashBound("hexStart", args[1])
	if err != nil {
		return err
	}
	end, err := hashBound("hexEnd", args[2])
	if err != nil {
		return err
	}
	r := storage.HashRange{Last: math.MaxUint64}
	if start != endOfHashes {
		r.First, _ = strconv.ParseUint(start[2:], 16, 64) // hashBound has read it
	}
	if end != endOfHashes {
		last, _ := strconv.ParseUint(end[2:], 16, 64)
		r.Last = last - 1
	}
	// Fixed lengths make the order of the texts that of the numbers.
	if len(start) > len(end) || len(start) == len(end) && start >= end {
		return fmt.Errorf("shard range start %s must be less than end %s", start, end)
	}
	p.shard.Ranges = append(p.shard.Ranges, r)
	p.said = append(p.said, fmt.Sprintf("%s(%s, '%s', '%s')", shardRange, field, start, end))
	return nil
}

// fieldPath is an expression a.b.c as it is written.
func fieldPath(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), true
	case ast.SelectKind:
		s := e.AsSelect()
		operand, ok := fieldPath(s.Operand())
		return operand + "." + s.FieldName(), ok && !s.IsTestOnly()
	}
	return "", false
}

// hashBound is a bound of a range: 0x and 16 lower-case digits, or 2^64.
func hashBound(name string, e ast.Expr) (string, error) {
	literal, ok := e.AsLiteral().(types.String) // nil where it is none
	if !ok {
		return "", fmt.Errorf("%s must be a string literal", name)
	}
	text := string(literal)
	digits, ok := strings.CutPrefix(text, "0x")
	switch {
	case !ok:
		return "", fmt.Errorf("%s must have '0x' prefix, got %q", name, text)
	case digits == "":
		return "", fmt.Errorf("%s: hex value is required after '0x'", name)
	case strings.Trim(digits, "0123456789abcdef") != "":
		return "", fmt.Errorf("%s: invalid hex character in %q", name, text)
	case len(digits) < 16:
		return "", fmt.Errorf("%s must be a 0x-prefixed 16-digit hex value, got %q (did you mean \"0x%016s\"?)", name,
			text, digits)
	case len(digits) > 16 && text != endOfHashes:
		return "", fmt.Errorf("%s: the greatest value is '%s' (2^64), got %q", name, endOfHashes, text)
	}
	return text, nil
}
