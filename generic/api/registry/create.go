package registry

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
)

// nameAttempts is how many generated names are tried.
const nameAttempts = 8

// beingDeleted precedes the error of a name whose object is held by finalizers.
const beingDeleted = "object is being deleted: "

// Create serves create. Where the name is generated, several are tried
// before an object that has it already is an error.
func (s *Store[T]) Create(ctx context.Context, r rest.CreateRequest) (runtime.Object, error) {
	obj, ok := r.Object.(T)
	if !ok {
		return nil, kind.NotOfKind(r.Object, s.kind.Hub)
	}
	dryRun := r.Options != nil && isDryRun(r.Options.DryRun)
	if obj.GetGenerateName() == "" {
		return s.create(ctx, obj, r.Validate, dryRun)
	}
	attempts := nameAttempts
	if obj.GetName() != "" {
		attempts = 1
	}
	var err error
	for range attempts {
		attempt, _ := obj.DeepCopyObject().(T)
		if attempt.GetName() == "" {
			attempt.SetName(s.kind.NewName(obj.GetGenerateName()))
		}
		var created runtime.Object
		if created, err = s.create(ctx, attempt, r.Validate, dryRun); !apierrors.IsAlreadyExists(err) {
			return created, err
		}
		conflict := apierrors.NewGenerateNameConflict(s.requested(ctx), attempt.GetName(), 1)
		if strings.HasPrefix(err.Error(), beingDeleted) {
			conflict.ErrStatus.Message = beingDeleted + conflict.ErrStatus.Message
		}
		err = conflict
	}
	return nil, err
}

// create writes an object that has its name.
func (s *Store[T]) create(ctx context.Context, obj T, validate rest.ValidateObjectFunc,
	dryRun bool) (runtime.Object, error) {
	finish, err := s.prepareCreate(ctx, obj, validate, dryRun)
	if err != nil {
		return nil, err
	}
	created, err := s.createPrepared(ctx, obj, dryRun)
	finish.settle(ctx, err)
	if err == nil {
		return created, nil
	}
	if doubtful := (doubtfulError{}); errors.As(err, &doubtful) {
		err = doubtful.error
	}
	return nil, err
}

// createPrepared writes an object that is valid.
func (s *Store[T]) createPrepared(ctx context.Context, obj T, dryRun bool) (runtime.Object, error) {
	key, err := s.key(obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	if v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64); err == nil && v != 0 && !dryRun {
		return nil, errVersionOnCreate
	}
	created, err := s.insert(ctx, key, obj, dryRun)
	if errors.Is(err, storage.ErrExists) {
		return nil, s.alreadyExists(ctx, key, obj.GetName())
	}
	return created, err
}

// insert writes a key that must not exist, or looks whether it does.
func (s *Store[T]) insert(ctx context.Context, key string, obj T, dryRun bool) (runtime.Object, error) {
	sent := obj.GetResourceVersion()
	obj.SetResourceVersion("")
	if dryRun {
		p, err := s.read(ctx, key)
		if err != nil {
			return nil, err
		}
		if p.exists() {
			return nil, storage.ErrExists
		}
		s.form.AsStored(obj)
		obj.SetResourceVersion(sent) // creation must not set one
		return obj, nil
	}
	value, err := s.encodeStored(obj)
	if err != nil {
		return nil, err
	}
	revision, err := s.options.Backend.Create(ctx, key, value, s.ttl(obj))
	if err != nil {
		return nil, attemptError(err)
	}
	return s.wrote(key, value, revision, obj), nil
}

func (s *Store[T]) ttl(obj T) time.Duration {
	if s.kind.TTL == nil {
		return 0
	}
	return s.kind.TTL(obj)
}

// alreadyExists returns the error for a name that is taken, which says whether what is there is about to go.
func (s *Store[T]) alreadyExists(ctx context.Context, key, name string) error {
	exists := apierrors.NewAlreadyExists(s.requested(ctx), name)
	p, err := s.read(ctx, key)
	if err != nil || !p.exists() {
		return exists
	}
	if obj, err := s.decodeValue(key, p.value, p.revision); err == nil && obj.GetDeletionTimestamp() != nil {
		exists.ErrStatus.Message = beingDeleted + exists.ErrStatus.Message
	}
	return exists
}

// finishFunc gives back, or confirms, what an object reserved.
type finishFunc func(ctx context.Context, ok bool)

func finishNothing(context.Context, bool) {}

// settle calls finish with what came of the write. Where it is unknown, what was reserved stays
// so: others must not get what the object may have.
func (finish finishFunc) settle(ctx context.Context, err error) {
	if err == nil || !errors.As(err, new(doubtfulError)) {
		finish(ctx, err == nil)
	}
}

// prepareCreate makes an object ready to be written and validates it. The finish
// function is to be called if there is no error.
func (s *Store[T]) prepareCreate(ctx context.Context, obj T, validate rest.ValidateObjectFunc,
	dryRun bool) (finishFunc, error) {
	k := s.kind
	var none T
	kind.FillSystemMetadata(obj)
	if err := k.EnsureNamespace(ctx, obj); err != nil {
		return nil, err
	}
	if err := s.prepareForCreate(ctx, obj); err != nil {
		return nil, err
	}
	errs := k.ValidateFirst(obj)
	rules := s.form.MetadataRules()
	own := rules.OnUpdate != kind.MetadataOnce
	if own {
		errs = append(errs, k.ValidateMetadata(rules, obj)...)
	}
	finish := finishFunc(finishNothing)
	if k.Write.Begin != nil {
		begun, err := k.Write.Begin(ctx, obj, none, dryRun)
		if err != nil {
			return nil, err
		}
		if begun != nil {
			finish = begun
		}
	}
	errs = append(errs, k.Validate(ctx, obj, none)...)
	if err := ctx.Err(); err != nil { // which ends validation, too
		finish(ctx, false)
		return nil, err
	}
	if len(errs) == 0 && (!own || len(path.IsValidPathSegmentName(obj.GetName())) > 0 ||
		len(path.IsValidPathSegmentPrefix(obj.GetGenerateName())) > 0) {
		errs = k.ValidatePathMetadata(obj)
	}
	if len(errs) > 0 {
		finish(ctx, false)
		return nil, s.invalid(k.Hub.GroupKind(), obj.GetName(), errs)
	}
	if k.Write.Warnings != nil {
		addWarnings(ctx, k.Write.Warnings(ctx, obj, none))
	}
	if validate != nil {
		if err := validate(ctx, obj); err != nil {
			finish(ctx, false)
			return nil, err
		}
	}
	return finish, nil
}

// prepareForCreate resets what a client may not set at creation.
func (s *Store[T]) prepareForCreate(ctx context.Context, obj T) error {
	drop := s.options.DropDisabled
	if prepares, err := s.kind.Prepares(nil); err != nil || drop == nil && !prepares {
		return err
	}
	var none T
	return s.form.Prepare(ctx, obj, none, func(obj, _ T) {
		if drop != nil {
			drop(obj, nil)
		}
		s.kind.Prepare(ctx, nil, obj, none)
	})
}

// invalid is the error of a write in which validation found something.
func (s *Store[T]) invalid(kind schema.GroupKind, name string, errs field.ErrorList) error {
	for _, e := range errs {
		if err, ok := e.BadValue.(*rest.ConversionError); ok {
			return err
		}
	}
	if s.options.DistinctErrors {
		errs = rest.Distinct(errs)
	}
	return rest.Invalid(kind, name, errs)
}

func addWarnings(ctx context.Context, texts []string) {
	for _, t := range texts {
		request.AddWarning(ctx, t)
	}
}
