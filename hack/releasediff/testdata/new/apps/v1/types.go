package v1

// Garden is a kind.
type Garden struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	// +k8s:minimum=1
	Size *int64 `json:"size"`
	// +featureGate=GardenBeds
	Beds []Bed `json:"beds,omitempty"`
}

// Bed is part of a garden.
type Bed struct{}

// Phase is an enum.
type Phase string

// Growing is a phase, as Harvested is.
const (
	Growing   Phase = "Growing"
	Harvested Phase = "Harvested"
)

// APILifecycleRemoved is generated.
func (in *Garden) APILifecycleRemoved() (major, minor int) {
	return 1, 41
}
