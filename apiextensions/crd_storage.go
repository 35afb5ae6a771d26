package apiextensions

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"triplane/generic/wire"
)

// crdStorage keeps CRDs as JSON in v1beta1, as kube-apiserver does to this day,
// and reads both versions.
type crdStorage struct{}

// EncodeStored implements registry.StorageCodec.
func (crdStorage) EncodeStored(obj runtime.Object) ([]byte, error) {
	crd, ok := obj.(definitionObject)
	if !ok {
		return nil, fmt.Errorf("%T is no CustomResourceDefinition", obj)
	}
	var hub apiextensions.CustomResourceDefinition
	// Conversion shares what it can, and moves what all versions have in common.
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd.DeepCopy(), &hub, nil); err != nil {
		return nil, err
	}
	var stored apiextensionsv1beta1.CustomResourceDefinition
	if err := apiextensionsv1beta1.Convert_apiextensions_CustomResourceDefinition_To_v1beta1_CustomResourceDefinition(&hub, &stored, nil); err != nil {
		return nil, err
	}
	stored.SetGroupVersionKind(apiextensionsv1beta1.SchemeGroupVersion.WithKind(crdGVK.Kind))
	b, err := wire.AppendJSON(nil, &stored)
	return append(b, '\n'), err
}

// DecodeStored implements registry.StorageCodec.
func (crdStorage) DecodeStored(value []byte) (runtime.Object, error) { return decodeCRD(value) }

// decodeCRD reads a CRD as storage holds it.
func decodeCRD(value []byte) (definitionObject, error) {
	var kind struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(value, &kind); err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if kind.APIVersion != apiextensionsv1beta1.SchemeGroupVersion.String() {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(value, crd); err != nil {
			return nil, err
		}
		setDefaults(crd)
		return crd, nil
	}
	var stored apiextensionsv1beta1.CustomResourceDefinition
	if err := kjson.UnmarshalCaseSensitivePreserveInts(value, &stored); err != nil {
		return nil, err
	}
	apiextensionsv1beta1.SetDefaults_CustomResourceDefinition(&stored)
	apiextensionsv1beta1.SetDefaults_CustomResourceDefinitionSpec(&stored.Spec)
	var hub apiextensions.CustomResourceDefinition
	if err := apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&stored, &hub, nil); err != nil {
		return nil, err
	}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(&hub, crd, nil); err != nil {
		return nil, err
	}
	crd.SetGroupVersionKind(crdGVK)
	setDefaults(crd)
	return crd, nil
}
