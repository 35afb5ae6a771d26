package flowcontrol

import (
	"fmt"
	"math"
	"slices"

	flowv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
)

const (
	maxQueues = 10 * 1000 * 1000
	// maxEntropy bounds the bits of the hash that dealing a hand takes.
	maxEntropy = 60
)

func priorityLevelKind() kind.Kind[*flowv1.PriorityLevelConfiguration] {
	type level = flowv1.PriorityLevelConfiguration
	return kind.Kind[*level]{
		Representation: kind.Typed[*level]{Former: formerLevels(), MetadataOnStatus: kind.MetadataOnce},
		Write: kind.Write[*level]{
			Default:          defaultLevel,
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Validate: kind.Whole(validateLevel),
		},
		Columns: show.Columns(show.Path("spec.type"),
			show.FieldOr("NominalConcurrencyShares", "spec.limited.nominalConcurrencyShares", show.None),
			limited("Queues", "queues"), limited("HandSize", "handSize"), limited("QueueLengthLimit", "queueLengthLimit")),
		Status: &kind.Subresource[*level]{Metadata: kind.WholeMetadata, Validate: kind.Whole(validateLevelStatus)},
	}
}

// limited is a column of how requests queue.
func limited(name, field string) kind.Column {
	return show.FieldOr(name, "spec.limited.limitResponse.queuing."+field, show.None)
}

func defaultLevel(l *flowv1.PriorityLevelConfiguration) {
	if e := l.Spec.Exempt; e != nil {
		defaults.Set(&e.NominalConcurrencyShares, 0)
		defaults.Set(&e.LendablePercent, 0)
	} else if l.Name == exempt && l.Spec.Type == flowv1.PriorityLevelEnablementExempt {
		l.Spec.Exempt = &flowv1.ExemptPriorityLevelConfiguration{NominalConcurrencyShares: ptr.To[int32](0),
			LendablePercent: ptr.To[int32](0)}
	}
	x := l.Spec.Limited
	if x == nil {
		return
	}
	defaults.Set(&x.NominalConcurrencyShares, 30)
	defaults.Set(&x.LendablePercent, 0)
	if q := x.LimitResponse.Queuing; q != nil {
		for _, f := range []struct {
			field *int32
			value int32
		}{{&q.HandSize, 8}, {&q.Queues, 64}, {&q.QueueLengthLimit, 50}} {
			if *f.field == 0 {
				*f.field = f.value
			}
		}
	}
}

func validateLevel(l *flowv1.PriorityLevelConfiguration) field.ErrorList {
	s, path := &l.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if (l.Name == exempt) != (s.Type == flowv1.PriorityLevelEnablementExempt) {
		known := s.Type == flowv1.PriorityLevelEnablementExempt || s.Type == flowv1.PriorityLevelEnablementLimited
		if known || l.Name == exempt {
			errs = append(errs, field.Invalid(path.Child("type"), s.Type, "must be 'Exempt' if and only if `name` is 'exempt'"))
		}
	}
	switch s.Type {
	case flowv1.PriorityLevelEnablementExempt:
		if s.Exempt != nil {
			errs = append(errs, validateShares(s.Exempt.NominalConcurrencyShares, s.Exempt.LendablePercent,
				path.Child("exempt"))...)
		}
	case flowv1.PriorityLevelEnablementLimited:
		if s.Limited != nil {
			errs = append(errs, validateLimited(s.Limited, path.Child("limited"))...)
		}
	case "":
	default:
		errs = append(errs, check.OneOf(s.Type, path.Child("type"), flowv1.PriorityLevelEnablementExempt,
			flowv1.PriorityLevelEnablementLimited)...)
	}
	return check.DeclaredLast(slices.Concat(validateMembers(s, path), errs, validateMandatory(l)))
}

// validateMembers validates the unions of a level: the type decides which members are set, known or not.
func validateMembers(s *flowv1.PriorityLevelConfigurationSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Exempt != nil && s.Type != flowv1.PriorityLevelEnablementExempt {
		errs = append(errs, field.Forbidden(path.Child("exempt"), ""))
	}
	limited := path.Child("limited")
	if s.Limited == nil {
		if s.Type == flowv1.PriorityLevelEnablementLimited {
			errs = append(errs, field.Required(limited, ""))
		}
		return append(errs, typeIn(s.Type == "", path)...)
	}
	if s.Type != flowv1.PriorityLevelEnablementLimited {
		errs = append(errs, field.Forbidden(limited, ""))
	}
	errs = append(errs, typeIn(s.Type == "", path)...)
	r, at := &s.Limited.LimitResponse, limited.Child("limitResponse")
	switch queues := r.Type == flowv1.LimitResponseTypeQueue; {
	case queues && r.Queuing == nil:
		errs = append(errs, field.Required(at.Child("queuing"), ""))
	case !queues && r.Queuing != nil:
		errs = append(errs, field.Forbidden(at.Child("queuing"), ""))
	}
	return append(errs, typeIn(r.Type == "", at)...)
}

// typeIn requires the type of a union.
func typeIn(empty bool, path *field.Path) field.ErrorList {
	if empty {
		return field.ErrorList{field.Required(path.Child("type"), "")}
	}
	return nil
}

func validateMandatory(l *flowv1.PriorityLevelConfiguration) field.ErrorList {
	for _, m := range flowcontrol.DefaultLevels() {
		switch {
		case m.Name != l.Name:
		case l.Name == catchAll:
			return mustEqual(l.Name, l.Spec, m.Spec)
		case l.Name == exempt:
			want := m.Spec.DeepCopy() // shares and lending are the administrator's
			if l.Spec.Exempt != nil {
				want.Exempt = l.Spec.Exempt
			}
			if check.Differs(l.Spec, *want) {
				return field.ErrorList{field.Invalid(field.NewPath("spec"), l.Spec,
					"spec of 'exempt' except the 'spec.exempt' field must equal the fixed value")}
			}
		}
	}
	return nil
}

func validateShares(shares, lendable *int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if shares != nil && *shares < 0 {
		errs = append(errs, field.Invalid(path.Child("nominalConcurrencyShares"), *shares, "must be a non-negative integer"))
	}
	if lendable != nil && (*lendable < 0 || *lendable > 100) {
		errs = append(errs, field.Invalid(path.Child("lendablePercent"), *lendable, "must be between 0 and 100, inclusive"))
	}
	return errs
}

func validateLimited(x *flowv1.LimitedPriorityLevelConfiguration, path *field.Path) field.ErrorList {
	errs := validateShares(x.NominalConcurrencyShares, nil, path)
	errs = append(errs, validateResponse(&x.LimitResponse, path.Child("limitResponse"))...)
	errs = append(errs, validateShares(nil, x.LendablePercent, path)...)
	if b := x.BorrowingLimitPercent; b != nil && *b < 0 {
		errs = append(errs, field.Invalid(path.Child("borrowingLimitPercent"), *b,
			"if specified, must be a non-negative integer"))
	}
	return errs
}

func validateResponse(r *flowv1.LimitResponse, path *field.Path) field.ErrorList {
	switch r.Type {
	case flowv1.LimitResponseTypeReject, "":
	case flowv1.LimitResponseTypeQueue:
		if r.Queuing != nil {
			return validateQueuing(r.Queuing, path.Child("queuing"))
		}
	default:
		return check.OneOf(r.Type, path.Child("type"), flowv1.LimitResponseTypeQueue, flowv1.LimitResponseTypeReject)
	}
	return nil
}

func validateQueuing(q *flowv1.QueuingConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if q.QueueLengthLimit <= 0 {
		errs = append(errs, field.Invalid(path.Child("queueLengthLimit"), q.QueueLengthLimit, "must be positive"))
	}
	if q.Queues <= 0 {
		errs = append(errs, field.Invalid(path.Child("queues"), q.Queues, "must be positive"))
	} else if q.Queues > maxQueues {
		errs = append(errs, field.Invalid(path.Child("queues"), q.Queues, fmt.Sprintf("must not be greater than %d",
			maxQueues)))
	}
	hand := path.Child("handSize")
	switch {
	case q.HandSize <= 0:
		errs = append(errs, field.Invalid(hand, q.HandSize, "must be positive"))
	case q.HandSize > q.Queues:
		errs = append(errs, field.Invalid(hand, q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues)))
	case entropy(q.Queues, q.HandSize) > maxEntropy:
		errs = append(errs, field.Invalid(hand, q.HandSize,
			fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", q.Queues,
				q.HandSize, maxEntropy)))
	}
	return errs
}

// entropy is how many bits dealing a hand from a deck takes.
func entropy(deck, hand int32) int {
	return int(math.Ceil(math.Log2(float64(deck)) * float64(hand)))
}

func validateLevelStatus(o *flowv1.PriorityLevelConfiguration) field.ErrorList {
	types := make([]string, len(o.Status.Conditions))
	for i := range types {
		types[i] = string(o.Status.Conditions[i].Type)
	}
	return check.ConditionsUnique(types, field.NewPath("status", "conditions"))
}
