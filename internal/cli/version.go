package cli

import (
	"runtime/debug"
	"strings"
)

// Version returns the version that the linker set. A program that go install has made from a module has that of the module.
func Version(linked string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return moduleVersion(linked, info.Main)
	}
	return linked
}

// moduleVersion leaves out the pseudo-version of a work tree, which has no sum.
func moduleVersion(linked string, m debug.Module) string {
	if linked == "dev" && m.Sum != "" {
		return strings.TrimPrefix(m.Version, "v")
	}
	return linked
}
