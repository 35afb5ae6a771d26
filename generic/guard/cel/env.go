package cel

import (
	"reflect"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"triplane.dev/generic/guard/cel/library"
)

// PerCallLimit limits the cost of one evaluation.
const PerCallLimit = 1000000

// Base returns the environment that all expressions extend. It is created on first use and immutable.
var Base = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals(),
		),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsVersion(3)),
		library.Kubernetes(),
	)
})

// WithObject returns the base environment with a variable that has the fields of T, a struct of an API version v1. Its
// values are maps, so that absent fields differ from empty ones.
func WithObject[T any](variable string) (*cel.Env, error) {
	base, err := Base()
	if err != nil {
		return nil, err
	}
	goType := reflect.TypeFor[T]()
	env, err := base.Extend(ext.NativeTypes(ext.ParseStructTag("json"), goType),
		cel.Variable(variable, cel.ObjectType("v1."+goType.Name())))
	if err != nil {
		return nil, err
	}
	return env.Extend(cel.CustomTypeProvider(fieldTypes{env.CELTypeProvider()}))
}

// fieldTypes has the types of fields without access to Go structs.
type fieldTypes struct{ types.Provider }

// FindStructFieldType implements types.Provider.
func (f fieldTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	t, ok := f.Provider.FindStructFieldType(name, field)
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: t.Type}, true
}
