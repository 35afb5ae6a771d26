package database

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"

	"triplane.dev/internal/platform"
)

// pages reads a database file without bbolt. bbolt trusts each offset and each page number in the file, and
// panics in its own goroutines on wrong ones. All reads are within the length of the file.
//
// If walk returns no error, bbolt can open, read and write the file: each page has the correct kind, belongs to
// one parent, lies within the file, and has its keys in order.
type pages struct {
	file []byte // mapped
	size uint64 // of a page in bytes
	end  uint64 // number of pages in use
	root uint64
	seen []uint64 // bit set of the pages that belong to a parent
	// visit is called for each entry of a bucket, in order.
	visit func(bucket string, key, value []byte) error
}

// Constants of bbolt's file format.
const (
	pageHeader, pageElement, bucketHeader = 16, 16, 16

	branchPage, leafPage, freelistPage = 0x01, 0x02, 0x10

	boltMagic, boltVersion = 0xED0CDAED, 2
	// metaSummed is the number of bytes of a meta page that its checksum covers.
	metaSummed = 56
	metaBytes  = metaSummed + 8
	// unlisted is the page number of the free list if that is not stored.
	unlisted = math.MaxUint64
	// deepest limits the levels of pages.
	deepest = 64
)

var errNoMeta = errors.New("neither of the two meta pages is valid")

// walk calls visit for each entry of a database file. It returns an error if its pages are damaged.
func walk(path string, visit func(bucket string, key, value []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read-only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < 2*pageHeader {
		return errNoMeta
	}
	file, unmap, err := platform.Map(f, int(info.Size()))
	if err != nil {
		return fmt.Errorf("failed to map %s: %w", path, err)
	}
	p := &pages{file: file, visit: visit}
	return errors.Join(Guard(p.walk), unmap())
}

func (p *pages) walk() error {
	freelist, err := p.meta()
	if err != nil {
		return err
	}
	if p.end < 2 || p.end > uint64(len(p.file))/p.size {
		return fmt.Errorf("it was cut: %d pages of %d bytes are in use, and it has %d bytes", p.end, p.size, len(p.file))
	}
	p.seen = make([]uint64, p.end/64+1)
	p.seen[0] = 3 // the meta pages
	if err := p.tree("", p.root, nil, nil, 0); err != nil || freelist == unlisted {
		return err
	}
	return p.free(freelist)
}

// meta reads the newer of the two valid meta pages, like bbolt.
func (p *pages) meta() (freelist uint64, err error) {
	le, found, last := binary.LittleEndian, false, uint64(0)
	read := func(at uint64) bool {
		if at+pageHeader+metaBytes > uint64(len(p.file)) {
			return false
		}
		b := p.file[at+pageHeader:][:metaBytes]
		sum := fnv.New64a()
		_, _ = sum.Write(b[:metaSummed])
		size := uint64(le.Uint32(b[8:]))
		if le.Uint32(b) != boltMagic || le.Uint32(b[4:]) != boltVersion || le.Uint64(b[metaSummed:]) != sum.Sum64() ||
			size < 512 || size > 1<<16 || size&(size-1) != 0 {
			return false
		}
		if tx := le.Uint64(b[48:]); !found || tx > last {
			found, last, p.size = true, tx, size
			p.root, freelist, p.end = le.Uint64(b[16:]), le.Uint64(b[32:]), le.Uint64(b[40:])
		}
		return true
	}
	if read(0) {
		read(p.size)
		return freelist, nil
	}
	for size := uint64(512); size <= 1<<16 && !found; size *= 2 {
		read(size)
	}
	if !found {
		return 0, errNoMeta
	}
	return freelist, nil
}

// take returns a page with its overflow pages, and marks them as used.
func (p *pages) take(id uint64, kinds uint16) (page []byte, kind uint16, err error) {
	if id < 2 || id >= p.end {
		return nil, 0, fmt.Errorf("page %d is outside of the file", id)
	}
	header := p.file[id*p.size:][:pageHeader]
	kind = binary.LittleEndian.Uint16(header[8:])
	more := uint64(binary.LittleEndian.Uint32(header[12:]))
	switch {
	case binary.LittleEndian.Uint64(header) != id:
		return nil, 0, fmt.Errorf("page %d has the number of page %d", id, binary.LittleEndian.Uint64(header))
	case kind&kinds == 0 || kind&(kind-1) != 0:
		return nil, 0, fmt.Errorf("page %d is of kind %#x", id, kind)
	case more >= p.end-id:
		return nil, 0, fmt.Errorf("page %d exceeds the file", id)
	}
	for n := id; n <= id+more; n++ {
		if p.seen[n/64]&(1<<(n%64)) != 0 {
			return nil, 0, fmt.Errorf("page %d is used twice", n)
		}
		p.seen[n/64] |= 1 << (n % 64)
	}
	return p.file[id*p.size : (id+more+1)*p.size], kind, nil
}

// tree reads the pages of a bucket from page id on. Keys must be in [first, limit); nil means no bound.
func (p *pages) tree(bucket string, id uint64, first, limit []byte, depth int) error {
	if depth > deepest {
		return fmt.Errorf("page %d is nested too deeply", id)
	}
	page, kind, err := p.take(id, branchPage|leafPage)
	if err != nil {
		return err
	}
	if kind == leafPage {
		return p.leaf(bucket, fmt.Sprintf("page %d", id), page, keys{first, limit}, depth)
	}
	le, count := binary.LittleEndian, int(binary.LittleEndian.Uint16(page[10:]))
	if count == 0 {
		return fmt.Errorf("page %d is empty", id)
	}
	key := func(i int) ([]byte, error) {
		at := pageHeader + i*pageElement
		return part(page, at, uint64(le.Uint32(page[at:])), uint64(le.Uint32(page[at+4:])))
	}
	if err := fits(page, count); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	for i := range count {
		from, err := key(i)
		if err != nil {
			return fmt.Errorf("page %d: %w", id, err)
		}
		until := limit
		if i+1 < count {
			if until, err = key(i + 1); err != nil {
				return fmt.Errorf("page %d: %w", id, err)
			}
		}
		if !between(from, first, limit) || until != nil && bytes.Compare(from, until) >= 0 {
			return fmt.Errorf("page %d is out of order at %x", id, from)
		}
		if err := p.tree(bucket, le.Uint64(page[pageHeader+i*pageElement+8:]), from, until, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// keys is a range of keys: from first to before limit, where nil is no limit.
type keys struct{ first, limit []byte }

// leaf reads the entries of a leaf page, which are entries of a bucket or buckets.
func (p *pages) leaf(bucket, name string, page []byte, in keys, depth int) error {
	le, count := binary.LittleEndian, int(binary.LittleEndian.Uint16(page[10:]))
	if err := fits(page, count); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var last []byte
	for i := range count {
		at := pageHeader + i*pageElement
		offset, keyLen, values := uint64(le.Uint32(page[at+4:])), uint64(le.Uint32(page[at+8:])),
			uint64(le.Uint32(page[at+12:]))
		both, err := part(page, at, offset, keyLen+values)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		key, value := both[:keyLen:keyLen], both[keyLen:]
		if !between(key, in.first, in.limit) || i > 0 && bytes.Compare(last, key) >= 0 {
			return fmt.Errorf("%s is out of order at %x", name, key)
		}
		last = key
		switch flags := le.Uint32(page[at:]); {
		case flags > 1 || (flags == 1) != (bucket == ""):
			return fmt.Errorf("%s: entry %x is of kind %#x", name, key, flags)
		case flags == 1:
			err = p.bucket(string(key), value, depth)
		default:
			err = p.visit(bucket, key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket reads a bucket: a tree of pages, or a page within the entry.
func (p *pages) bucket(name string, value []byte, depth int) error {
	if len(value) < bucketHeader || name == "" {
		return fmt.Errorf("bucket %q has no root", name)
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return p.tree(name, root, nil, nil, depth+1)
	}
	page := value[bucketHeader:]
	if len(page) < pageHeader || binary.LittleEndian.Uint16(page[8:]) != leafPage {
		return fmt.Errorf("bucket %q is not a page", name)
	}
	return p.leaf(name, fmt.Sprintf("bucket %q", name), page, keys{}, depth+1)
}

// free reads the list of free pages.
func (p *pages) free(id uint64) error {
	page, _, err := p.take(id, freelistPage)
	if err != nil {
		return err
	}
	count, list := uint64(binary.LittleEndian.Uint16(page[10:])), page[pageHeader:]
	if count == math.MaxUint16 {
		count, list = binary.LittleEndian.Uint64(list), list[8:]
	}
	if count > uint64(len(list))/8 {
		return fmt.Errorf("the list of free pages has an invalid length %d", count)
	}
	for i := range count {
		n := binary.LittleEndian.Uint64(list[8*i:])
		if n < 2 || n >= p.end || p.seen[n/64]&(1<<(n%64)) != 0 {
			return fmt.Errorf("page %d is not free", n)
		}
		p.seen[n/64] |= 1 << (n % 64)
	}
	return nil
}

// fits returns an error if a page is too small for its elements.
func fits(page []byte, count int) error {
	if pageHeader+count*pageElement > len(page) {
		return fmt.Errorf("its number of elements %d is invalid", count)
	}
	return nil
}

// part returns the bytes at an element's offset, which is relative to the element.
func part(page []byte, element int, offset, length uint64) ([]byte, error) {
	from := uint64(element) + offset
	if from+length > uint64(len(page)) {
		return nil, fmt.Errorf("an element of %d bytes exceeds it", length)
	}
	return page[from : from+length : from+length], nil
}

func between(key, first, limit []byte) bool {
	return (first == nil || bytes.Compare(first, key) <= 0) && (limit == nil || bytes.Compare(key, limit) < 0)
}
