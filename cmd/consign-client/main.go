// Command consign-client is consign without the server: the commands that talk to one.
package main

import (
	"os"

	"github.com/consign-dev/consign/internal/cli"
)

// version is set by the linker, except by go install.
var version = "dev"

func main() {
	version = cli.Version(version)
	ctx, stop := cli.Signals()
	p := &cli.Program{Name: "consign-client", Version: version, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	code := cli.Report(os.Stderr, p.Name, p.Run(ctx, os.Args[1:]))
	stop()
	os.Exit(code)
}
