package triplane

import (
	"context"
	"fmt"
	"os"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/manifests"
)

// validateManifests returns an error unless --manifests is a directory.
func (o *Options) validateManifests() []error {
	if o.Manifests == "" {
		return nil
	}
	info, err := os.Stat(o.Manifests)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", o.Manifests)
	}
	if err != nil {
		return []error{fmt.Errorf("--manifests: %w", err)}
	}
	return nil
}

// addManifests applies --manifests when all post-start hooks have succeeded.
func addManifests(f *foundation, outermost *server.GenericAPIServer) error {
	if f.options.Manifests == "" {
		return nil
	}
	a, err := manifests.New(f.options.Manifests, f.config.LoopbackClientConfig)
	if err != nil {
		return fmt.Errorf("--manifests: %w", err)
	}
	for _, c := range a.Metrics() {
		if err := f.config.Metrics.Register(c); err != nil {
			return err
		}
	}
	f.manifests = a
	outermost.Handler.NonGoRestfulMux.UnlistedHandle(manifests.StatusPath, a)
	return outermost.AddPostStartHook("start-manifests", func(hook server.HookContext) error {
		hook.Go(func(ctx context.Context) {
			select {
			case <-hook.HooksDone:
				a.Run(ctx)
			case <-ctx.Done():
			}
		})
		return nil
	})
}

// AwaitManifests returns when all objects of --manifests have been applied, nil without that flag. If ctx is done
// before, it returns the problems so far.
func (s *Server) AwaitManifests(ctx context.Context) error {
	if s.manifests == nil {
		return nil
	}
	select {
	case <-s.manifests.Synced():
		return nil
	case <-ctx.Done():
	}
	if problems := s.manifests.Status().Problems; len(problems) > 0 {
		p := problems[0]
		return fmt.Errorf("--manifests: %d problems: %s document %d: %s: %s", len(problems), p.File, p.Document, p.Object,
			p.Message)
	}
	return fmt.Errorf("--manifests: %w", ctx.Err())
}
