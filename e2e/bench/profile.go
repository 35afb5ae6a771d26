package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// profileSpan is how long one profile takes. A server that is stopped meanwhile loses it.
const profileSpan = 5 * time.Second

// profiled has the CPU of a server written to files of the directory, one profile after
// the other until the target is closed.
func (t *target) profiled(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.tls.Clone()}}
		defer client.CloseIdleConnections()
		for ctx.Err() == nil {
			if err := saveProfile(ctx, client, t.url, dir); err != nil && ctx.Err() == nil {
				progress("profile: %v", err)
				return
			}
		}
	}()
	t.stop = append(t.stop, func() {
		cancel()
		<-done
	})
	return nil
}

func saveProfile(ctx context.Context, client *http.Client, url, dir string) error {
	url = fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", url, int(profileSpan.Seconds()))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
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
