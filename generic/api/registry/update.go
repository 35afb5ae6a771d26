package registry

import (
	"context"
	"errors"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/object"
)

// Update serves update, patch and apply.
func (s *Store[T]) Update(ctx context.Context, r rest.UpdateRequest) (runtime.Object, bool, error) {
	u := &update[T]{store: s, UpdateRequest: r, dryRun: dryRunUpdate(r.Options),
		allowCreate: s.kind.Write.AllowCreateOnUpdate || r.ForceAllowCreate}
	return u.run(ctx)
}

func dryRunUpdate(opts *metav1.UpdateOptions) bool { return opts != nil && isDryRun(opts.DryRun) }

// update is one request that changes an object, by the rules of the main
// resource or of a subresource.
type update[T kind.Object] struct {
	rest.UpdateRequest
	store       *Store[T]
	sub         *kind.Subresource[T] // nil for the main resource
	key         string
	allowCreate bool
	dryRun      bool
}

// run tries, from what the cache holds at first, until the write meets the state.
func (u *update[T]) run(ctx context.Context) (_ runtime.Object, created bool, err error) {
	if u.key, err = u.store.requestKey(ctx, u.Name); err != nil {
		return nil, false, err
	}
	from, err := u.start(ctx)
	if err != nil {
		return nil, false, err
	}
	return u.store.retry(ctx, u.key, from, u.attempt)
}

// start is what the first attempt begins with. What an update may create is taken to be
// missing where the cache does not know it: the transaction finds out.
func (u *update[T]) start(ctx context.Context) (state, error) {
	if u.allowCreate {
		if r, err := u.store.cache.Peek(ctx, u.key); err == nil && r == nil {
			if _, filled := u.store.cache.Count(); filled {
				return state{}, nil
			}
		}
	}
	return u.store.peek(ctx, u.key)
}

// attempt computes the new object from a state and writes it.
func (u *update[T]) attempt(ctx context.Context, from state) (runtime.Object, bool, error) {
	s := u.store
	old := s.kind.New()
	if from.exists() {
		var err error
		if old, err = s.decodeValue(u.key, from.value, from.revision); err != nil {
			return nil, false, err
		}
	}
	if !from.exists() && !u.allowCreate {
		return nil, false, s.notFound(ctx, u.Name)
	}
	if err := u.checkPreconditions(ctx, old); err != nil {
		return nil, false, err
	}
	updated, err := u.Change(ctx, old)
	if err != nil {
		return nil, false, err
	}
	obj, ok := updated.(T)
	if !ok {
		return nil, false, kind.NotOfKind(updated, s.kind.Hub)
	}
	if !from.exists() {
		created, err := u.create(ctx, obj)
		return created, true, err
	}
	if err := u.checkVersion(ctx, obj, old); err != nil {
		return nil, false, err
	}
	finish, err := u.prepare(ctx, obj, old)
	if err != nil {
		return nil, false, err
	}
	var out runtime.Object
	if s.releasedBy(obj, old) {
		out, err = u.remove(ctx, obj, from)
	} else {
		out, err = u.write(ctx, obj, old, from)
	}
	finish.settle(ctx, err)
	return out, false, err
}

func (u *update[T]) checkPreconditions(ctx context.Context, old T) error {
	key := u.key
	if u.dryRun { // which kube-apiserver checks before it knows the prefix
		key = strings.TrimPrefix(key, u.store.options.Prefix)
	}
	return u.store.checkPreconditions(ctx, u.Name, key, old, u.Preconditions)
}

// CheckPreconditions returns a conflict where a stored object is not the one that is
// meant; nil preconditions mean any.
func (s *Store[T]) CheckPreconditions(ctx context.Context, obj T, p *metav1.Preconditions) error {
	key, err := s.key(obj.GetNamespace(), obj.GetName())
	if err != nil {
		return err
	}
	return s.checkPreconditions(ctx, obj.GetName(), key, obj, p)
}

func (s *Store[T]) checkPreconditions(ctx context.Context, name, key string, obj T, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != obj.GetUID() {
		return s.storageConflict(ctx, name, key, preconditionFailed("UID", *p.UID, obj.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != obj.GetResourceVersion() {
		return s.storageConflict(ctx, name, key,
			preconditionFailed("ResourceVersion", *p.ResourceVersion, obj.GetResourceVersion()))
	}
	return nil
}

// create writes an object that an update may create.
func (u *update[T]) create(ctx context.Context, obj T) (runtime.Object, error) {
	if _, err := sentVersion(obj); err != nil {
		return nil, err
	}
	finish, err := u.store.prepareCreate(ctx, obj, u.ValidateCreate, u.dryRun)
	if err != nil {
		return nil, err
	}
	created, err := u.store.insert(ctx, u.key, obj, u.dryRun)
	finish.settle(ctx, err)
	return created, err
}

// sentVersion returns the resource version that the client has sent, 0 for none.
func sentVersion(obj kind.Object) (uint64, error) {
	if obj.GetResourceVersion() == "" {
		return 0, nil
	}
	return strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
}

// overwrites reports whether the object of a request needs no resourceVersion.
func (s *Store[T]) overwrites(ctx context.Context) bool {
	allowed, version := s.kind.Write.AllowUnconditionalUpdate, s.kind.Hub.Version
	if i := request.InfoFrom(ctx); i != nil && i.APIVersion != "" {
		version = i.APIVersion
	}
	return allowed != nil && allowed(version)
}

// checkVersion holds the update against the revision that the client has seen.
func (u *update[T]) checkVersion(ctx context.Context, obj, old T) error {
	s := u.store
	version, err := sentVersion(obj)
	if err != nil {
		return err
	}
	if version == 0 {
		if s.overwrites(ctx) {
			obj.SetResourceVersion(old.GetResourceVersion())
			return nil
		}
		r := s.requested(ctx)
		return apierrors.NewInvalid(schema.GroupKind{Group: r.Group, Kind: r.Resource}, u.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	if strconv.FormatUint(version, 10) == old.GetResourceVersion() {
		return nil
	}
	return apierrors.NewConflict(s.requested(ctx), u.Name, errors.New(optimisticLockMessage))
}

// prepare makes the new object ready to be written and validates the change.
func (u *update[T]) prepare(ctx context.Context, obj, old T) (finishFunc, error) {
	s, k := u.store, u.store.kind
	if err := k.EnsureNamespace(ctx, obj); err != nil {
		return nil, err
	}
	obj.SetGeneration(old.GetGeneration())
	begin, validate, warnings := k.Write.Begin, k.Validate, k.Write.Warnings
	if u.sub != nil {
		begin, validate, warnings = u.sub.Begin, u.sub.Validate, u.sub.Warnings
	}
	if err := u.prepareForUpdate(ctx, obj, old); err != nil {
		return nil, err
	}
	kind.KeepSystemMetadata(obj, old)
	errs := k.ValidateMetadataUpdate(s.form.MetadataRules(), obj, old, u.sub == nil)
	finish := finishFunc(finishNothing)
	if begin != nil {
		begun, err := begin(ctx, obj, old, u.dryRun)
		if err != nil {
			return nil, err
		}
		if begun != nil {
			finish = begun
		}
	}
	if validate != nil {
		errs = append(errs, validate(ctx, obj, old)...)
	}
	if err := ctx.Err(); err != nil { // which ends validation, too
		finish(ctx, false)
		return nil, err
	}
	if len(errs) > 0 {
		finish(ctx, false)
		return nil, s.invalid(s.calledKind(obj), obj.GetName(), errs)
	}
	if warnings != nil {
		addWarnings(ctx, warnings(ctx, obj, old))
	}
	if u.ValidateUpdate != nil {
		if err := u.ValidateUpdate(ctx, obj, old); err != nil {
			finish(ctx, false)
			return nil, err
		}
	}
	return finish, nil
}

// prepareForUpdate resets what the request may not write.
func (u *update[T]) prepareForUpdate(ctx context.Context, obj, old T) error {
	k, drop := u.store.kind, u.store.options.DropDisabled
	prepares, err := k.Prepares(u.sub)
	if err != nil {
		return err
	}
	if drop == nil && !prepares {
		return nil
	}
	dropLast := u.sub == nil && k.Write.DropDisabledLast
	return u.store.form.Prepare(ctx, obj, old, func(obj, old T) {
		if drop != nil && !dropLast {
			drop(obj, old)
		}
		k.Prepare(ctx, u.sub, obj, old)
		if drop != nil && dropLast {
			drop(obj, old)
		}
	})
}

// calledKind is the kind as errors name it: an object without a Go type is what it says.
func (s *Store[T]) calledKind(obj T) schema.GroupKind {
	if object.Typed(obj) {
		return s.kind.Hub.GroupKind()
	}
	return obj.GetObjectKind().GroupVersionKind().GroupKind()
}

// releasedBy reports whether the update takes away what held a terminating object.
func (s *Store[T]) releasedBy(obj, old T) bool {
	if len(obj.GetFinalizers()) > 0 || old.GetDeletionTimestamp() == nil {
		return false
	}
	if grace := old.GetDeletionGracePeriodSeconds(); grace != nil && *grace != 0 {
		return false
	}
	return s.kind.Delete.Hold == nil || !s.kind.Delete.Hold(obj)
}

// remove deletes the object instead of updating it. The client gets the object
// as it would have been.
func (u *update[T]) remove(ctx context.Context, obj T, from state) (runtime.Object, error) {
	s := u.store
	s.form.AsStored(obj)
	if u.dryRun {
		return obj, nil
	}
	if _, err := s.options.Backend.Delete(ctx, u.key, from.revision); err != nil {
		return nil, attemptError(err)
	}
	if s.kind.Delete.After != nil {
		s.kind.Delete.After(ctx, obj)
	}
	return obj, nil
}

// write replaces the object, unless that would change nothing.
func (u *update[T]) write(ctx context.Context, obj, old T, from state) (runtime.Object, error) {
	s := u.store
	value, same, err := s.kind.View().EncodeChange(obj, old, from.value,
		func() ([]byte, error) { return s.encodeStored(obj) })
	if err != nil {
		return nil, err
	}
	if same {
		if from, err = s.confirm(ctx, u.key, from); err != nil {
			return nil, err
		}
	}
	if same && !from.stale || u.dryRun {
		obj.SetResourceVersion(storage.FormatRevision(from.revision))
		s.form.AsStored(obj)
		return obj, nil
	}
	revision, err := s.options.Backend.Update(ctx, u.key, value, from.revision, s.ttl(obj))
	if err != nil {
		return nil, attemptError(err)
	}
	return s.wrote(u.key, value, revision, obj), nil
}

// Modify changes an object for the server itself, by the rules of a subresource
// (nil for the main resource): pods/binding, eviction. change may be called
// several times, each time on a new copy.
func (s *Store[T]) Modify(ctx context.Context, name string, sub *kind.Subresource[T], dryRun bool,
	change func(T) error) (T, error) {
	return s.Replace(ctx, name, sub, dryRun, func(obj T) (T, error) { return obj, change(obj) })
}

// Replace is Modify with a change that may return another object.
func (s *Store[T]) Replace(ctx context.Context, name string, sub *kind.Subresource[T], dryRun bool,
	change func(T) (T, error)) (T, error) {
	var none T
	u := &update[T]{store: s, sub: sub, dryRun: dryRun, UpdateRequest: rest.UpdateRequest{Name: name,
		Change: func(_ context.Context, old runtime.Object) (runtime.Object, error) {
			obj, ok := old.DeepCopyObject().(T)
			if !ok {
				return nil, kind.NotOfKind(old, s.kind.Hub)
			}
			return change(obj)
		}}}
	updated, _, err := u.run(ctx)
	if err != nil {
		return none, err
	}
	return s.objectOf(updated)
}

// Read returns an object, decoded, in the context's namespace.
func (s *Store[T]) Read(ctx context.Context, name string) (T, error) {
	var none T
	key, err := s.requestKey(ctx, name)
	if err != nil {
		return none, err
	}
	r, err := s.get(ctx, key, name, "")
	if err != nil {
		return none, err
	}
	return s.decode(r)
}

// requestKey is where the object is that a request names.
func (s *Store[T]) requestKey(ctx context.Context, name string) (string, error) {
	return s.key(request.NamespaceFrom(ctx), name)
}
