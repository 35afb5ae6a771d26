package core

import (
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/kubeapi/group"
)

// tokenRequests serves "serviceaccounts/token".
type tokenRequests struct {
	stores    *group.Stores
	issuer    *serviceaccount.Issuer
	audiences []string
	most      time.Duration
	// extended is how long the tokens of pods live; 0 is what they ask for.
	extended time.Duration
	// byUID compares the UID that a request names.
	byUID bool
}

func newTokenRequests(d group.Deps) tokenRequests {
	t := tokenRequests{stores: d.Stores, issuer: d.TokenIssuer, audiences: d.APIAudiences, most: d.MaxTokenLifetime,
		byUID: d.Gate("TokenRequestServiceAccountUIDValidation")}
	if d.ExtendTokens {
		t.extended = d.ExtendedLifetime
	}
	return t
}

func (t tokenRequests) resource() *rest.Resource {
	return &rest.Resource{
		New:           func() runtime.Object { return &authenticationv1.TokenRequest{} },
		Kind:          authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"),
		Default:       defaultTokenRequest,
		KeepsMetadata: true, // a client may say which account, by its UID, it means
		Create:        t.create,
	}
}

const (
	defaultTokenSeconds = 3600
	// podTokenSeconds is what pods' token volumes ask for; such tokens may be
	// extended.
	podTokenSeconds = 3607
)

func (t tokenRequests) create(ctx context.Context, r rest.CreateRequest) (runtime.Object, error) {
	req, ok := r.Object.(*authenticationv1.TokenRequest)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a TokenRequest object: %T", r.Object))
	}
	namespace := request.NamespaceFrom(ctx)
	if err := namesAccount(req, namespace, r.Name); err != nil {
		return nil, err
	}
	account, err := group.ServiceAccounts(t.stores).GetConsistent(ctx, namespace, r.Name)
	if err != nil {
		return nil, err
	}
	if t.byUID && req.UID != "" && req.UID != account.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: authenticationv1.GroupName, Resource: "TokenRequest"},
			account.Name, fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)",
				req.UID, account.UID))
	}
	req.CreationTimestamp = *now()
	req.Name, req.Namespace, req.UID = account.Name, account.Namespace, account.UID
	defaultTokenRequest(req) // for callers other than the endpoint
	if errs := validateTokenRequest(req); len(errs) > 0 {
		return nil, apierrors.NewInvalid(authenticationv1.SchemeGroupVersion.WithKind("TokenRequest").GroupKind(), "", errs)
	}
	if len(req.Spec.Audiences) == 0 {
		req.Spec.Audiences = t.audiences
	}
	if err := group.Admit(ctx, req, r.Validate); err != nil {
		return nil, err
	}
	return t.issue(ctx, req, account)
}

func defaultTokenRequest(obj runtime.Object) {
	if r, ok := obj.(*authenticationv1.TokenRequest); ok && r.Spec.ExpirationSeconds == nil {
		r.Spec.ExpirationSeconds = ptr.To(int64(defaultTokenSeconds))
	}
}

// namesAccount rejects a request whose metadata has another name or namespace than its service account.
func namesAccount(req *authenticationv1.TokenRequest, namespace, name string) error {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	if req.Name != "" && req.Name != name {
		errs = append(errs, field.Invalid(path.Child("name"), req.Name, "must match the service account name if specified"))
	}
	if req.Namespace != "" && req.Namespace != namespace {
		errs = append(errs, field.Invalid(path.Child("namespace"), req.Namespace,
			"must match the service account namespace if specified"))
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(authenticationv1.SchemeGroupVersion.WithKind("TokenRequest").GroupKind(), name, errs)
}

func validateTokenRequest(r *authenticationv1.TokenRequest) field.ErrorList {
	var errs field.ErrorList
	if at := field.NewPath("spec", "attestations"); len(r.Spec.Attestations) > 0 && !boundToWebhook(r) {
		return field.ErrorList{field.Invalid(at, r.Spec.Attestations,
			"attestations may only be specified with a webhook bound object reference")}
	}
	path := field.NewPath("spec", "expirationSeconds")
	if *r.Spec.ExpirationSeconds < 600 {
		errs = append(errs, field.Invalid(path, *r.Spec.ExpirationSeconds, "may not specify a duration less than 10 minutes"))
	}
	if *r.Spec.ExpirationSeconds > 1<<32 {
		errs = append(errs, field.Invalid(path, *r.Spec.ExpirationSeconds,
			"may not specify a duration larger than 2^32 seconds"))
	}
	if boundToWebhook(r) {
		errs = append(errs, validateAttestations(r.Spec.Attestations, field.NewPath("spec", "attestations"))...)
	}
	return errs
}

// boundToWebhook reports whether a token is to be for calls of a webhook.
func boundToWebhook(r *authenticationv1.TokenRequest) bool {
	ref := r.Spec.BoundObjectRef
	return ref != nil && ref.APIVersion == "admissionregistration.k8s.io/v1" &&
		(ref.Kind == "ValidatingWebhookConfiguration" || ref.Kind == "MutatingWebhookConfiguration")
}

// validateAttestations wants the one group whose reviews a webhook gets, or all of them.
func validateAttestations(all map[string]authenticationv1.AttestationValue, path *field.Path) field.ErrorList {
	const key = authenticationv1.AttestationAdmissionReviewAPIGroups
	if len(all) != 1 {
		return field.ErrorList{field.Invalid(path, all, "webhook bound requests require exactly one "+key+" attestation")}
	}
	for other := range all {
		if other != key {
			return field.ErrorList{field.NotSupported(path.Key(other), other, []string{key})}
		}
	}
	groups := all[key]
	if path = path.Key(key); len(groups) != 1 {
		return field.ErrorList{field.Invalid(path, groups, "must specify a single value")}
	}
	path = path.Index(0)
	if groups[0] == "" {
		return field.ErrorList{field.Invalid(path, groups[0], "may not be an empty string")}
	}
	if groups[0] == "*" {
		return nil
	}
	var errs field.ErrorList
	for _, msg := range validation.IsDNS1123Subdomain(groups[0]) {
		errs = append(errs, field.Invalid(path, groups[0], "must specify a valid API Group: "+msg))
	}
	return errs
}

func (t tokenRequests) issue(ctx context.Context, req *authenticationv1.TokenRequest,
	account *corev1.ServiceAccount) (runtime.Object, error) {
	lifetime := time.Duration(*req.Spec.ExpirationSeconds) * time.Second
	if t.most > 0 && lifetime > t.most {
		lifetime = t.most
		req.Spec.ExpirationSeconds = ptr.To(int64(lifetime.Seconds()))
	}
	ask := serviceaccount.Request{
		Namespace: account.Namespace, Account: serviceaccount.Ref{Name: account.Name, UID: string(account.UID)},
		Lifetime: lifetime,
	}
	if err := t.bind(ctx, req, account, &ask); err != nil {
		return nil, err
	}
	ask.Audiences = req.Spec.Audiences
	if t.extended > lifetime && ask.Pod != nil && *req.Spec.ExpirationSeconds == podTokenSeconds &&
		t.forThisServer(ask.Audiences) {
		ask.WarnAfter, ask.Lifetime = lifetime, t.extended
	}
	until := time.Now().Add(ask.Lifetime)
	token, id, err := t.issuer.Issue(ctx, ask)
	if err != nil {
		return nil, fmt.Errorf("failed to generate token: %w", err)
	}
	request.Annotate(ctx, "authentication.kubernetes.io/issued-credential-id", "JTI="+id)
	req.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(until)}
	return req, nil
}

// forThisServer reports whether a token is for this server only.
func (t tokenRequests) forThisServer(audiences []string) bool {
	return !slices.ContainsFunc(audiences, func(a string) bool { return !slices.Contains(t.audiences, a) })
}

// bind finds the object that the token shall live and die with.
func (t tokenRequests) bind(ctx context.Context, req *authenticationv1.TokenRequest, account *corev1.ServiceAccount,
	ask *serviceaccount.Request) error {
	ref := req.Spec.BoundObjectRef
	if ref == nil {
		return nil
	}
	uid := ref.UID
	same := func(kind string, found types.UID) error {
		if uid != "" && uid != found {
			return apierrors.NewConflict(groupResource(kind), ref.Name,
				fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", uid))
		}
		return nil
	}
	switch gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind); gvk.GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		p, err := group.Pods(t.stores).GetConsistent(ctx, account.Namespace, ref.Name)
		if err != nil {
			return err
		}
		if p.Spec.ServiceAccountName != account.Name {
			return apierrors.NewBadRequest(fmt.Sprintf(
				"cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", account.Name))
		}
		ask.Pod = &serviceaccount.Ref{Name: p.Name, UID: string(p.UID)}
		t.nodeOf(ctx, p, ask)
		return same("Pod", p.UID)
	case schema.GroupKind{Kind: "Secret"}:
		s, err := group.Secrets(t.stores).GetConsistent(ctx, account.Namespace, ref.Name)
		if err != nil {
			return err
		}
		ask.Secret = &serviceaccount.Ref{Name: s.Name, UID: string(s.UID)}
		return same("Secret", s.UID)
	case schema.GroupKind{Kind: "Node"}:
		n, err := group.Nodes(t.stores).GetConsistent(ctx, "", ref.Name)
		if err != nil {
			return err
		}
		ask.Node = &serviceaccount.Ref{Name: n.Name, UID: string(n.UID)}
		return same("Node", n.UID)
	default:
		off := ""
		if boundToWebhook(req) {
			off = " (feature gate APIServerWebhookAuthenticationToken is disabled)"
		}
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s%s", gvk.String(), off))
	}
}

// nodeOf notes the node that a pod is on, where there is one.
func (t tokenRequests) nodeOf(ctx context.Context, p *corev1.Pod, ask *serviceaccount.Request) {
	if p.Spec.NodeName == "" {
		return
	}
	ask.Node = &serviceaccount.Ref{Name: p.Spec.NodeName}
	if n, err := group.Nodes(t.stores).GetConsistent(ctx, "", p.Spec.NodeName); err == nil {
		ask.Node.UID = string(n.UID)
	}
}
