// The commands consign serve, version and config, and the health check of the container.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
)

// serve runs the server until ctx ends.
func serve(ctx context.Context, env environment, args []string) error {
	f := flags("serve")
	demo := f.Bool("demo", false, "")
	reset := f.Duration("demo-reset", 0, "")
	migrate := f.Bool("migrate", false, "")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if set := given(f, "demo-reset"); set && !*demo {
		return usageError("consign serve: --demo-reset deletes all data once a period: it needs --demo")
	} else if set && *reset < time.Minute {
		return usageError("consign serve: --demo-reset: must be at least 1m")
	}
	cfg, err := config.Load(env.environ)
	if err != nil {
		return err
	}
	log := logger(cfg, env.stderr)
	o := app.Options{Log: log, Version: version, Serve: true, Migrate: *migrate, Demo: *demo, DemoReset: *reset, Greet: env.stdout}
	// Return memory that only the start needed, a few megabytes, to the operating system.
	started := time.AfterFunc(5*time.Second, debug.FreeOSMemory)
	defer started.Stop()
	if *reset > 0 {
		err = app.ServeDemo(ctx, cfg, o)
	} else if a, failure := app.New(ctx, cfg, o); failure != nil {
		err = failure
	} else {
		err = a.Run(ctx)
	}
	// A start that a signal interrupts is not a failure. Some errors wrap context.Canceled, others its cause, which names the signal.
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
		log.Info("stopped before it was ready", "during", err.Error())
		return nil
	}
	return err
}

// printVersion prints the version.
func printVersion(_ context.Context, env environment, args []string) error {
	if _, err := parse(flags("version"), args, 0, 0); err != nil {
		return err
	}
	_, err := fmt.Fprintln(env.stdout, "consign", version)
	return err
}

// printConfig prints the effective settings, or an environment file with all settings.
func printConfig(_ context.Context, env environment, args []string) error {
	f := flags("config")
	template := f.Bool("template", false, "")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if *template {
		return config.Template(env.stdout)
	}
	cfg, err := config.Parse(env.environ)
	if err != nil {
		return err
	}
	return cfg.Print(env.stdout)
}

// healthcheck requests /healthz from the server of this configuration, for container engines.
func healthcheck(ctx context.Context, env environment, args []string) error {
	if _, err := parse(flags("healthcheck"), args, 0, 0); err != nil {
		return err
	}
	cfg, err := config.Parse(env.environ)
	if err != nil {
		return err
	}
	address := cfg.AdminListen
	if host, port, err := net.SplitHostPort(address); err == nil && (host == "" || host == "0.0.0.0" || host == "::") {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w", address, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server at %s answers %s", address, resp.Status)
	}
	return nil
}

// given reports whether a flag was set.
func given(f *flag.FlagSet, name string) (set bool) {
	f.Visit(func(one *flag.Flag) { set = set || one.Name == name })
	return set
}
