package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// profileSpan is how long one profile takes.
const profileSpan = time.Second

// profiled has the CPU of a server written to files of the directory, one profile after
// the other until the target is closed.
func (t *target) profiled(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.tls.Clone()}}
		defer client.CloseIdleConnections()
		for {
			if err := saveProfile(client, t.url, dir); err != nil {
				progress("profile: %v", err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	t.stop = append(t.stop, func() {
		close(stop)
		<-done // with the last of what was done
	})
	return nil
}

func saveProfile(client *http.Client, url, dir string) error {
	url = fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", url, int(profileSpan.Seconds()))
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	profile, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "triplane-*.pb.gz")
	if err != nil {
		return err
	}
	_, err = file.Write(profile)
	return errors.Join(err, file.Close())
}
