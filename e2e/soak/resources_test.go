package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// large is the size of large objects in bytes: a request may have 3 MB, but a write to etcd 1.5 MB.
const large = 900_000

// TestDiskFull has the disk be full while the server is written to and when it starts. It goes on
// where no more room is needed, or ends and says so.
func TestDiskFull(t *testing.T) {
	together(t)
	disk := harness.NewDisk(t)
	s := harness.StartOn(t, disk, often...)
	writes := oracle.NewWrites("default")
	refusesWhatDoesNotFit(t, disk, s)
	ends, starts := 0, 0
	n := rounds(t, 1, func(round int) {
		writes.During(t, s.Config, 20+rand.IntN(100), func() {
			disk.Leave(harness.None)
			overwrite(t.Context(), s.Config, "full", 40, 4) // there is a little room in the files
			if s.Ended(time.Second) {
				endedWell(t, s.Process, unix.ENOSPC.Error())
				ends++
			}
			s.Kill()
		})
		if round%2 == 1 {
			disk.FailPower(t, s.DataDir)
		}
		if s.Begin(t); s.Ended(500 * time.Millisecond) {
			endedWell(t, s.Process, unix.ENOSPC.Error())
			starts++
		}
		s.Kill()
		disk.Leave(harness.Plenty)
		s.Restart(t)
		writes.Check(t, s.Config)
	})
	note(t, "no acknowledged write is lost; where it ends, it says so in a line",
		"the disk was full %d times: %d times the server ended, %d times it did not start until there was room; %d acknowledged writes", n, ends, starts, writes.Acknowledged())
}

// refusesWhatDoesNotFit has the server see that there is little room: it refuses writes, and goes on.
func refusesWhatDoesNotFit(t *testing.T, disk *harness.Disk, s *harness.Server) {
	t.Helper()
	maps := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default")
	create := func(name string) error {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		return err
	}
	if err := create("before"); err != nil {
		t.Fatal(err)
	}
	disk.Leave(harness.Scarce)
	time.Sleep(2 * time.Millisecond) // a write of the server may just have found room, which holds for a millisecond
	var status apierrors.APIStatus
	if err := create("full"); !errors.As(err, &status) || status.Status().Code != http.StatusInsufficientStorage {
		t.Errorf("a write to a full disk: %v", err)
	}
	if _, err := maps.Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := maps.Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	disk.Leave(harness.Plenty)
	if err := create("after"); err != nil {
		t.Errorf("a write when there is room again: %v", err)
	}
}

// overwrite has clients write a large object n times each, or until that fails, and returns how many
// bytes were written.
func overwrite(ctx context.Context, config *rest.Config, name string, n, clients int) int64 {
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("kube-system")
	var written atomic.Int64
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := range n {
				call, cancel := context.WithTimeout(ctx, 5*time.Second)
				c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
					Data: map[string]string{"v": strings.Repeat(strconv.Itoa((i+client)%10), large)}}
				_, err := maps.Update(call, c, metav1.UpdateOptions{})
				if apierrors.IsNotFound(err) {
					_, err = maps.Create(call, c, metav1.CreateOptions{})
				}
				if cancel(); err != nil && !apierrors.IsAlreadyExists(err) {
					return
				}
				written.Add(large)
			}
		})
	}
	all.Wait()
	return written.Load()
}

// TestDescriptors connects to the server more often than it may have file descriptors, and does nothing
// with these connections. Who has a connection is served, the server does not spin, cuts its log, and
// takes connections again when there are descriptors.
func TestDescriptors(t *testing.T) {
	const limit = 160
	s := harness.StartAfter(t, fmt.Sprintf("ulimit -n %d", limit), often...)
	writes := oracle.NewWrites("default")
	var busiest time.Duration
	most := 0
	n := rounds(t, 1, func(int) {
		writes.During(t, s.Config, 1, func() {})
		var idle []net.Conn
		for range limit + 50 {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port))
			if err != nil {
				t.Fatal(err)
			}
			idle = append(idle, conn)
		}
		before := s.CPU(t)
		const look = 500 * time.Millisecond
		time.Sleep(look)
		busiest = max(busiest, (s.CPU(t)-before)*time.Second/look)
		writes.During(t, s.Config, 300, func() { most = max(most, s.Descriptors(t)) })
		for _, conn := range idle {
			_ = conn.Close() // it was never used
		}
		fresh := *s.Config
		fresh.Dial = (&net.Dialer{}).DialContext // which makes a new connection
		writes.Check(t, &fresh)
	})
	if busiest > time.Second/2 {
		t.Errorf("it computed %v in a second in which there was nothing to do", busiest)
	}
	s.Kill()
	s.Restart(t)
	writes.Check(t, s.Config)
	note(t, "who is connected is served, others are when there is room; less than 0.5 s of computing in a second; no acknowledged write is lost",
		"more connections than descriptors %d times: %d descriptors of %d were open; %.2f s of computing in a second at most; %d acknowledged writes", n, most, limit, busiest.Seconds(), writes.Acknowledged())
}

// TestMemoryLimit has clients write and list objects that together are larger than the memory that
// the server may have, by what it knows and by what the system gives it. It may end; what it
// acknowledged is there.
func TestMemoryLimit(t *testing.T) {
	const megabytes, readers = 256, 16
	objects := 5
	if long() {
		objects = 40
	}
	s := harness.StartAfter(t, fmt.Sprintf("ulimit -d %d; export GOMEMLIMIT=%dMiB", megabytes<<10, megabytes*2/3))
	for i := range objects {
		overwrite(t.Context(), s.Config, fmt.Sprintf("l%d", i), 1, 1)
	}
	deaths, highest := 0, int64(0)
	var lists, written atomic.Int64
	writes := oracle.NewWrites("default")
	rounds(t, 1, func(int) {
		ctx, cancel := context.WithTimeout(t.Context(), max(time.Second, *each/10))
		defer cancel()
		maps := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("kube-system")
		var all sync.WaitGroup
		for client := range 4 {
			all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					written.Add(overwrite(ctx, s.Config, fmt.Sprintf("l%d", (4*i+client)%objects), 1, 1))
				}
			})
		}
		for range readers {
			all.Go(func() {
				for ctx.Err() == nil {
					if _, err := maps.List(ctx, metav1.ListOptions{}); err == nil {
						lists.Add(1)
					}
				}
			})
		}
		writes.During(t, s.Config, 0, func() {
			for ctx.Err() == nil && !s.Ended(20*time.Millisecond) {
				highest = max(highest, s.AnonymousBytes())
			}
		})
		cancel()
		all.Wait()
		if s.Ended(0) {
			deaths++
		}
		s.Kill() // what it does still may end it, too
		s.Restart(t)
		writes.Check(t, s.Config)
	})
	note(t, "it may end, but no acknowledged write is lost",
		"%d lists of up to %d MB by %d clients beside %d MB written by 4, with %d MB of memory: the server ended %d times, and had %d MB at most; %d acknowledged writes",
		lists.Load(), objects*large>>20, readers, written.Load()>>20, megabytes, deaths, highest>>20,
		writes.Acknowledged())
}

// TestClockJumps sets the clock of the server, forward and back, while objects are followed and
// written, and kills it in between.
func TestClockJumps(t *testing.T) {
	together(t)
	const day = 24 * time.Hour
	var clock harness.Clock
	clock.Set(t, -30*day) // then its certificates are made
	s := harness.StartAt(t, &clock, often...)
	client := kubernetes.NewForConfigOrDie(s.Config)
	f := oracle.Follow(t, client, client)
	writes := oracle.NewWrites("kube-public")
	kills := 0
	n := rounds(t, 4, func(round int) {
		ahead := time.Duration(rand.Int64N(int64(200*day))) - 29*day
		clock.Set(t, ahead)
		f.More(t, 20)
		name := fmt.Sprintf("jump-%d", round)
		c, err := client.CoreV1().ConfigMaps("kube-system").Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Since(c.CreationTimestamp.Time) + ahead; off.Abs() > time.Minute {
			t.Errorf("an object is %v older than the clock says", off)
		}
		fault := func() {}
		if round%3 == 2 {
			fault = s.Kill
			kills++
		}
		if writes.During(t, s.Config, 20, fault); round%3 == 2 {
			s.Restart(t)
		}
		writes.Check(t, s.Config)
	})
	f.More(t, 20)
	f.End(t)
	note(t, "no event is missed or invented, no acknowledged write is lost, requests are served all the time",
		"the clock was set %d times, by up to 200 days, with %d kills; %d added, %d updated, %d deleted; %d acknowledged writes",
		n, kills, f.Adds, f.Updates, f.Deletes, writes.Acknowledged())
}
