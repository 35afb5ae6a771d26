package customresourcedefinition

// DecodeOutline reads an outline out of what storage holds.
func DecodeOutline(value []byte) (Object, error) {
	crd, err := decodeAtOnce(outlined.edit(make([]byte, 0, 2048), value, leaveOut))
	if err == nil && crd.Spec.PreserveUnknownFields {
		return decodeCRD(value)
	}
	return crd, err
}

var (
	schemasOfVersions = parts{"spec": {"validation": {"openAPIV3Schema": nil},
		"versions": {"schema": {"openAPIV3Schema": nil}}}}
	outlined = parts{
		"metadata": {"managedFields": nil, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": nil}},
		"spec":     schemasOfVersions["spec"],
	}
)

func leaveOut([]byte) (replacement []byte, keep bool) { return nil, false }
