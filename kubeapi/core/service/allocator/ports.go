package allocator

import (
	"context"
	"errors"
	"math/big"
	mathbits "math/bits"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
	"triplane.dev/kubeapi/group"
)

// PortAllocations is the resource by whose name storage options configure where node ports are kept
// (--etcd-servers-overrides). It is not served.
var PortAllocations = schema.GroupResource{Resource: "servicenodeportallocations"}

// ErrPortAllocated says that the port is allocated already.
var ErrPortAllocated = errors.New("provided port is already allocated")

// Ports allocates node ports. It is safe for concurrent use.
type Ports struct {
	backend storage.Backend
	key     string
	form    wire.StoredForm
	ports   utilnet.PortRange
	count   *Metrics
}

// NewPorts makes an allocator that keeps its bits in the storage that options describe. m
// counts what is allocated, nil nothing.
func NewPorts(options registry.RESTOptions, ports utilnet.PortRange, m *Metrics) *Ports {
	return &Ports{backend: options.Backend, key: options.Prefix + "/ranges/servicenodeports", form: options.Form,
		ports: ports, count: m}
}

// report counts ports that were given out, as asked for or chosen, with all that are taken.
func (p *Ports) report(asked, chosen int, bits *big.Int) {
	taken := 0
	for _, word := range bits.Bits() {
		taken += mathbits.OnesCount(uint(word))
	}
	p.count.Ports(asked, chosen, taken, p.ports.Size)
}

// noted counts the outcome of a change.
func (p *Ports) noted(wanted []int32, bits *big.Int, err error) {
	var failed *PortError
	if errors.As(err, &failed) {
		p.count.PortFailed(wanted[failed.Index] == 0)
	}
	if err != nil {
		return
	}
	chosen := 0
	for _, port := range wanted {
		if port == 0 {
			chosen++
		}
	}
	p.report(len(wanted)-chosen, chosen, bits)
}

// Range is what node ports are taken of.
func (p *Ports) Range() utilnet.PortRange { return p.ports }

// Change takes some ports and gives others back in one transaction. wanted ports
// of 0 are chosen; the result holds all wanted ones in order. With dryRun
// nothing is written.
func (p *Ports) Change(ctx context.Context, wanted, released []int32, dryRun bool) ([]int32, error) {
	for {
		kv, bits, err := p.read(ctx)
		if err != nil {
			return nil, err
		}
		got, err := p.apply(bits, wanted, released)
		if dryRun {
			return got, err
		}
		if err == nil {
			err = p.write(ctx, kv, bits)
		}
		var conflict *storage.ConflictError
		if errors.As(err, &conflict) || errors.Is(err, storage.ErrExists) {
			continue
		}
		p.noted(wanted, bits, err)
		return got, err
	}
}

// ReleaseUnused gives a port back that no Service has, as is left behind by a server that was killed
// before it wrote the Service. A port that some Service has is left alone.
func (p *Ports) ReleaseUnused(ctx context.Context, stores *group.Stores, port int32) error {
	list, err := services(ctx, stores)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(s *corev1.Service) bool { return slices.Contains(NodePorts(s), port) }) {
		return nil
	}
	_, err = p.Change(ctx, nil, []int32{port}, false)
	return err
}

// services lists all Services.
func services(ctx context.Context, stores *group.Stores) ([]*corev1.Service, error) {
	return group.Services(stores).ListConsistent(ctx, "")
}

// PortError says which of the wanted ports could not be had.
type PortError struct {
	Index int
	Err   error
}

func (e *PortError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *PortError) Unwrap() error { return e.Err }

func (p *Ports) apply(bits *big.Int, wanted, released []int32) ([]int32, error) {
	for _, port := range released {
		if p.ports.Contains(int(port)) {
			bits.SetBit(bits, int(port)-p.ports.Base, 0)
		}
	}
	got := make([]int32, len(wanted))
	for i, port := range wanted {
		if port == 0 {
			continue
		}
		offset := int(port) - p.ports.Base
		if bits.Bit(offset) == 1 {
			return nil, &PortError{i, ErrPortAllocated}
		}
		bits.SetBit(bits, offset, 1)
		got[i] = port
	}
	for i, port := range wanted {
		if port != 0 {
			continue
		}
		offset := p.free(bits)
		if offset < 0 {
			return nil, &PortError{i, ErrFull}
		}
		bits.SetBit(bits, offset, 1)
		got[i] = int32(p.ports.Base + offset)
	}
	return got, nil
}

// free finds a free port, above the band of clients that choose if possible.
func (p *Ports) free(bits *big.Int) int {
	size := p.ports.Size
	band := 0
	if size >= 32 {
		band = min(max(16, size/32), 128)
	}
	for _, part := range [][2]int{{band, size - band}, {0, band}} {
		if part[1] <= 0 {
			continue
		}
		start := rand.IntN(part[1])
		for i := range part[1] {
			if offset := part[0] + (start+i)%part[1]; bits.Bit(offset) == 0 {
				return offset
			}
		}
	}
	return -1
}

func (p *Ports) read(ctx context.Context) (*storage.KeyValue, *big.Int, error) {
	kv, err := p.backend.Get(ctx, p.key)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, new(big.Int), nil
	}
	if err != nil {
		return nil, nil, err
	}
	var r corev1.RangeAllocation
	if wire.UnmarshalStored(kv.Value, &r) != nil {
		return nil, nil, errors.New("the stored node port allocation cannot be read")
	}
	return &kv, new(big.Int).SetBytes(r.Data), nil
}

func (p *Ports) write(ctx context.Context, old *storage.KeyValue, bits *big.Int) error {
	kind := corev1.SchemeGroupVersion.WithKind("RangeAllocation")
	r := corev1.RangeAllocation{Range: p.ports.String(), Data: bits.Bytes()}
	r.SetGroupVersionKind(kind)
	value, err := wire.AppendStored(nil, kind, &r, p.form)
	if err != nil {
		return err
	}
	if old == nil {
		_, err = p.backend.Create(ctx, p.key, value, 0)
	} else {
		_, err = p.backend.Update(ctx, p.key, value, old.Revision, 0)
	}
	return err
}
