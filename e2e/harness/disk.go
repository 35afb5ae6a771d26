package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Disk is what of a process's files would be on the disk after a power failure: of each file what
// was in it when it was last synced, of each directory the names that were in it when that was last
// synced, and nothing else. It is less than any file system keeps.
//
// The kernel asks it about each fsync and fdatasync of the process (seccomp's notifications, which
// take no privileges), about the room that there is, and about each file that may be made and each block
// that may be needed. Nothing is really synced.
type Disk struct {
	shadow string // has the synced content of files

	mu    sync.Mutex
	nodes map[uint64]*node // by inode
	syncs int
	err   error
	// broken is what syncs fail with; 0 where they do not.
	broken unix.Errno
	room   Room
}

// Room is how much a disk has.
type Room int

const (
	// Plenty is as much as there really is.
	Plenty Room = iota
	// Scarce is none for those who ask before they write.
	Scarce
	// None is that no file is made, and none gets more blocks, though there seemed to be room.
	None
)

// node is a file or a directory as it is on the disk.
type node struct {
	held  *os.File // keeps the number of the inode from being used again
	names map[string]uint64
	file  string // with the content; "" is empty
}

// NewDisk returns a disk with nothing on it.
func NewDisk(t testing.TB) *Disk {
	d := &Disk{shadow: t.TempDir(), nodes: map[uint64]*node{}}
	t.Cleanup(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.forget()
	})
	return d
}

// forget lets go of all that is known.
func (d *Disk) forget() {
	for _, n := range d.nodes {
		_ = n.held.Close() // it was only held
	}
	d.nodes = map[uint64]*node{}
}

// Syncs is how many there were.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// command is that of a program whose files are on the disk; started has to be called when it is.
func (d *Disk) command(t testing.TB, program string, args []string) (_ *exec.Cmd, started func()) {
	t.Helper()
	p, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, its := os.NewFile(uintptr(ends[0]), "ours"), os.NewFile(uintptr(ends[1]), "its")
	cmd := exec.Command(p.Forgetful, append([]string{program}, args...)...)
	cmd.ExtraFiles = []*os.File{its}
	return cmd, func() {
		listener, err := receive(ours)
		if err = errors.Join(err, its.Close(), ours.Close()); err != nil {
			t.Fatalf("the kernel does not ask about syncs: %v", err)
		}
		go d.serve(listener)
	}
}

// receive takes the file descriptor that package main of forgetful sends.
func receive(socket *os.File) (int, error) {
	conn, err := net.FileConn(socket)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return 0, errors.Join(err, errors.New("it has ended"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// notification and answer are struct seccomp_notif and seccomp_notif_resp.
type (
	notification struct {
		id         uint64
		pid, flags uint32
		nr         int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	answer struct {
		id    uint64
		value int64
		err   int32
		flags uint32
	}
)

// serve answers until the process has ended.
func (d *Disk) serve(listener int) {
	defer func() { _ = unix.Close(listener) }() // it has ended
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && !errors.Is(err, unix.EINTR) ||
			poll[0].Revents&unix.POLLHUP != 0 {
			return
		}
		var asked notification
		if err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&asked)); err != nil {
			continue // a thread was killed
		}
		reply := d.answer(&asked)
		_ = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&reply)) // or it was killed meanwhile
	}
}

func (d *Disk) answer(asked *notification) answer {
	reply := answer{id: asked.id}
	switch asked.nr {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		if broken := d.brokenBy(); broken != 0 {
			reply.err = -int32(broken)
		} else if err := d.sync(fmt.Sprintf("/proc/%d/fd/%d", asked.pid, asked.args[0])); err != nil {
			reply.err = -int32(unix.EIO)
		}
	case unix.SYS_STATFS:
		if d.hasRoom() != Scarce || sayFull(asked) != nil {
			reply.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		}
	default:
		reply.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		if d.hasRoom() == None && asked.takesSpace() {
			reply.flags, reply.err = 0, -int32(unix.ENOSPC)
		}
	}
	return reply
}

// takesSpace reports whether a call makes a file or needs blocks that the file does not have.
// What cannot be found out because the process was killed takes none.
func (n *notification) takesSpace() bool {
	if n.nr == unix.SYS_OPENAT {
		_, err := os.Lstat(n.path())
		return errors.Is(err, os.ErrNotExist)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/fd/%d", n.pid, n.args[0]))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()               // it is read only
	size, at := int64(n.args[2]), int64(n.args[3]) // pwrite's
	if n.nr == unix.SYS_FALLOCATE {
		size, at = at, size
	}
	hole, err := unix.Seek(int(f.Fd()), at, unix.SEEK_HOLE)
	return errors.Is(err, unix.ENXIO) || err == nil && hole < at+size
}

// path is that of the file that openat opens.
func (n *notification) path() string {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", n.pid))
	if err != nil {
		return "/"
	}
	defer func() { _ = memory.Close() }() // it is read only
	name := make([]byte, unix.PathMax)
	read, _ := memory.ReadAt(name, int64(n.args[1])) // less, where its page is the last one
	name, _, _ = bytes.Cut(name[:read], []byte{0})
	if filepath.IsAbs(string(name)) {
		return string(name)
	}
	return fmt.Sprintf("/proc/%d/cwd/%s", n.pid, name)
}

// sayFull writes the answer of statfs about a full disk to the process.
func sayFull(asked *notification) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", asked.pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	full := unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20}
	content := unsafe.Slice((*byte)(unsafe.Pointer(&full)), unsafe.Sizeof(full))
	_, err = memory.WriteAt(content, int64(asked.args[1]))
	return errors.Join(err, memory.Close())
}

// Leave has the disk have room from now on.
func (d *Disk) Leave(room Room) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

func (d *Disk) hasRoom() Room {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.room
}

// Break has all syncs fail from now on; 0 mends the disk.
func (d *Disk) Break(errno unix.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = errno
}

func (d *Disk) brokenBy() unix.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken
}

func ioctl(fd int, request uint, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// sync puts a file, or the names of a directory, on the disk.
func (d *Disk) sync(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return err // the process was killed
	}
	if err == nil {
		err = d.keep(f)
	}
	d.syncs++
	d.err = errors.Join(d.err, err)
	return err
}

func (d *Disk) keep(f *os.File) error {
	n, number, err := d.node(f)
	if err != nil {
		return err
	}
	if n.names == nil {
		n.file = filepath.Join(d.shadow, fmt.Sprint(number))
		return copyData(n.file, n.held)
	}
	dir, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", n.held.Fd())) // which reads from the beginning
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // it is read only
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	clear(n.names)
	for _, e := range entries {
		child, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d/%s", n.held.Fd(), e.Name()),
			os.O_RDONLY|unix.O_NONBLOCK, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return err
		}
		if _, n.names[e.Name()], err = d.node(child); err != nil {
			return err
		}
	}
	return nil
}

// node is that of a file, which it takes over.
func (d *Disk) node(f *os.File) (*node, uint64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	number := info.Sys().(*syscall.Stat_t).Ino
	if n := d.nodes[number]; n != nil {
		return n, number, f.Close()
	}
	n := &node{held: f}
	if info.IsDir() {
		n.names = map[string]uint64{}
	}
	d.nodes[number] = n
	return n, number, nil
}

// copyData replaces a file by the content of another one, with its holes.
func copyData(path string, from *os.File) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for at := int64(0); ; {
		if at, err = unix.Seek(int(from.Fd()), at, unix.SEEK_DATA); errors.Is(err, unix.ENXIO) {
			break // no more
		} else if err != nil {
			return errors.Join(err, to.Close())
		}
		end, err := unix.Seek(int(from.Fd()), at, unix.SEEK_HOLE)
		if err != nil {
			return errors.Join(err, to.Close())
		}
		if _, err := io.Copy(io.NewOffsetWriter(to, at), io.NewSectionReader(from, at, end-at)); err != nil {
			return errors.Join(err, to.Close())
		}
		at = end
	}
	return errors.Join(to.Truncate(info.Size()), to.Close())
}

// FailPower replaces a directory by what of it is on the disk, after the process was killed.
func (d *Disk) FailPower(t testing.TB, dir string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		t.Fatal(d.err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, number, err := d.node(f)
	if err != nil {
		t.Fatal(err)
	}
	left := dir + ".left"
	err = errors.Join(d.write(left, number), os.RemoveAll(dir))
	d.forget()
	if err = errors.Join(err, os.Rename(left, dir), d.settle(dir)); err != nil {
		t.Fatal(err)
	}
}

// write makes a file or directory as it is on the disk.
func (d *Disk) write(path string, number uint64) error {
	n := d.nodes[number]
	if n.names == nil && n.file == "" {
		return os.WriteFile(path, nil, 0o600)
	}
	if n.names == nil {
		f, err := os.Open(n.file)
		if err != nil {
			return err
		}
		return errors.Join(copyData(path, f), f.Close())
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	for name, child := range n.names {
		if err := d.write(filepath.Join(path, name), child); err != nil {
			return err
		}
	}
	return nil
}

// settle has all that is in a directory be on the disk: what was read from it after the failure is.
func (d *Disk) settle(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return d.keep(f)
	})
}
