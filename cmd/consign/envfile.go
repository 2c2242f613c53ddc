package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/config"
)

// envFileFlag is the flag of all commands of the server and its operators. It may stand anywhere in the command line.
const envFileFlag = "--env-file"

// standalone are the commands that need no settings, and serve, whose settings systemd or a container engine gives.
var standalone = []string{"serve", "version", "licenses", "help"}

// withEnvFile returns the command line without --env-file, and the environment with the variables of that file, which win as they do in
// systemd. Without the flag and without any setting in the environment, commands read packaged, the file of the packages, if it exists.
func withEnvFile(args, environ []string, packaged string) (_, _ []string, err error) {
	var rest []string
	name := ""
	for i := 0; i < len(args); i++ {
		value, isFlag := strings.CutPrefix(args[i], envFileFlag)
		switch {
		case isFlag && strings.HasPrefix(value, "="):
			name = value[1:]
		case isFlag && value == "" && i+1 < len(args):
			i++
			name = args[i]
		case isFlag && value == "":
			return nil, nil, usageError("consign: " + envFileFlag + " needs the name of a file")
		default:
			rest = append(rest, args[i])
		}
	}
	hasSettings := slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, config.Prefix) })
	if name == "" {
		if hasSettings || len(rest) == 0 || slices.Contains(standalone, rest[0]) || slices.ContainsFunc(rest, asksForHelp) {
			return rest, environ, nil
		}
		if _, err := os.Stat(packaged); errors.Is(err, fs.ErrNotExist) {
			return rest, environ, nil
		}
		name, environ = packaged, append(slices.Clip(environ), config.Prefix+"DATA_DIR="+config.PackagedDataDir)
	}
	more, err := config.ReadEnvFile(name)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: run consign-admin instead, as root", err)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range more { // libraries read some themselves, such as AWS_ACCESS_KEY_ID
		if key, value, _ := strings.Cut(entry, "="); !strings.HasPrefix(key, config.Prefix) {
			if err := os.Setenv(key, value); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return rest, append(slices.Clip(environ), more...), nil
}
