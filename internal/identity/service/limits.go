package service

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/consign-dev/consign/internal/identity"
)

// limitKinds says how the value of each limit is written.
var limitKinds = map[string]string{
	"serviceEnabled": "switch", "users": "count", "transferVolumeGb": "volume", "storageVolumeGb": "volume", "gdprContract": "switch",
	"secureSpaces": "switch", "mimeTypeFilter": "switch", "newTransferLimit": "count", "newTransferDrainRate": "rate",
	"newTransferReceiversLimit": "count", "adminPortal": "switch", "mailboxGroups": "count", "changeHostname": "hostname",
}

// parseLimit reads the value of a limit into what is stored, nil for the plan's; problem says why it is none.
func parseLimit(name, value string) (parsed any, problem string) {
	kind, known := limitKinds[name]
	switch {
	case !known:
		names := make([]string, 0, len(limitKinds))
		for n := range limitKinds {
			names = append(names, n)
		}
		slices.Sort(names)
		return nil, "is no limit; there are " + strings.Join(names, ", ")
	case value == planDefault:
		return nil, ""
	}
	switch kind {
	case "switch":
		return parseSwitch(value)
	case "count":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return nil, "must be a whole number, 0 to 2147483647"
		}
		return int32(n), ""
	case "volume":
		return parseVolume(value)
	case "rate":
		return parseRate(value)
	}
	options := []string{identity.HostnameFixed, identity.HostnameLabel, identity.HostnameLabels, identity.HostnameCustom}
	if !slices.Contains(options, value) {
		return nil, "must be one of " + strings.Join(options, ", ")
	}
	return value, ""
}

func parseSwitch(value string) (any, string) {
	switch value {
	case "on", "true":
		return true, ""
	case "off", "false":
		return false, ""
	}
	return nil, "must be on or off"
}

// parseVolume reads gigabytes into bytes.
func parseVolume(value string) (any, string) {
	gb, err := strconv.ParseFloat(value, 64)
	if err != nil || !(gb >= 0 && gb <= 1e9) {
		return nil, "must be a number of gigabytes, 0 to 1000000000"
	}
	return int64(math.Round(gb * gigabyte)), ""
}

// parseRate reads drops a second, also as a fraction: 1/60 is one a minute.
func parseRate(value string) (any, string) {
	above, below, fraction := strings.Cut(value, "/")
	n, err := strconv.ParseFloat(above, 64)
	if err == nil && fraction {
		var d float64
		d, err = strconv.ParseFloat(below, 64)
		n /= d
	}
	if err != nil || !(n >= 0 && n <= 1e6) {
		return nil, "must be drops a second, such as 0.5 or 1/60"
	}
	return n, ""
}
