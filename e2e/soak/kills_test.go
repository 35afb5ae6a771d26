package soak

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// often are settings with which the log is cut, and history dropped, all the time.
var often = []string{"--embedded-etcd-snapshot-count=100", "--etcd-compaction-interval=1s"}

// TestKills kills the server while it is written to, and now and then while it starts. No write that
// was acknowledged may be lost.
func TestKills(t *testing.T) {
	s := harness.Start(t, often...)
	writes := oracle.NewWrites("default")
	kills, atLeast := 0, 2
	if long() {
		atLeast = 110 // with 200 kills
	}
	rounds(t, atLeast, func(round int) {
		writes.During(t, s.Config, 20+rand.IntN(100), s.Kill)
		kills++
		for range round % 3 {
			s.Begin(t)
			time.Sleep(time.Duration(rand.IntN(int(100 * time.Millisecond)))) // any moment of the start
			s.Kill()
			kills++
		}
		s.Restart(t)
		writes.Check(t, s.Config)
	})
	if long() && kills < 200 {
		t.Errorf("%d kills are too few to mean something", kills)
	}
	note(t, "no acknowledged write is lost, over 200 kills at least in a long run", "%d kills, %d acknowledged writes", kills, writes.Acknowledged())
}

// TestPowerFailures is TestKills with a disk that forgets what was not synced.
func TestPowerFailures(t *testing.T) {
	together(t)
	disk := harness.NewDisk(t)
	s := harness.StartOn(t, disk, often...)
	kubeconfig, err := os.ReadFile(s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	writes := oracle.NewWrites("default")
	n := rounds(t, 2, func(int) {
		writes.During(t, s.Config, 20+rand.IntN(300), s.Kill)
		disk.FailPower(t, s.DataDir)
		s.Restart(t)
		writes.Check(t, s.Config)
		if now, err := os.ReadFile(s.Kubeconfig); err != nil || !bytes.Equal(now, kubeconfig) {
			t.Errorf("the kubeconfig is another one, or gone: %v", err)
		}
	})
	mended(t, "keys, certificates and the kubeconfig were written without fsync", "all are there after each power failure", "they were there after %d power failures", n)
	note(t, "no acknowledged write is lost", "%d power failures, %d acknowledged writes, %d syncs", n,
		writes.Acknowledged(), disk.Syncs())
}

// TestInformers follows objects through kills, orderly stops, stalls and compactions. An informer
// may not miss an event, nor invent one.
func TestInformers(t *testing.T) {
	together(t)
	s := harness.Start(t, often...)
	client := kubernetes.NewForConfigOrDie(s.Config)
	f := oracle.Follow(t, client, client)
	n := rounds(t, 3, func(round int) {
		f.More(t, 50)
		switch round % 3 {
		case 0:
			s.Kill()
			s.Restart(t)
		case 1:
			s.Pause(t)
			time.Sleep(time.Duration(rand.IntN(int(time.Second))))
			s.Resume(t)
		case 2:
			if err := s.Terminate(t); err != nil {
				t.Error(err)
			}
			s.Restart(t)
		}
	})
	f.More(t, 50)
	f.End(t)
	note(t, "no event is missed or invented", "%d kills, stalls and stops; %d added, %d updated, %d deleted", n, f.Adds, f.Updates, f.Deletes)
}
