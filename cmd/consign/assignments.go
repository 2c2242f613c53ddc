// Arguments name=value of commands.

package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/consign-dev/consign/internal/identity"
)

// planDefault is the value that restores the default of a limit.
const planDefault = "default"

// assignments returns the names and values of arguments name=value, in their order.
func assignments(command string, args []string) (pairs [][2]string, err error) {
	for _, a := range args {
		name, value, assigned := strings.Cut(a, "=")
		if !assigned { // "city" alone must not clear it
			return nil, usageError(fmt.Sprintf("consign %s: %s: write name=value; %s= clears it", command, name, name))
		}
		pairs = append(pairs, [2]string{name, value})
	}
	return pairs, nil
}

// organizationChange parses the arguments of `consign org set`.
func organizationChange(args []string) (c identity.OrganizationChange, err error) {
	pairs, err := assignments("org set", args)
	texts := c.Texts()
	for _, p := range pairs {
		name, value := p[0], p[1]
		if name == "mfaRequired" {
			on, ok := parseSwitch(value).(bool)
			if !ok {
				return c, usageError("consign org set: mfaRequired: must be on or off")
			}
			c.MFARequired = &on
			continue
		}
		member, ok := texts[name]
		if !ok {
			return c, usageError(fmt.Sprintf("consign org set: %s: cannot be set; there are mfaRequired, %s", name,
				strings.Join(slices.Sorted(maps.Keys(texts)), ", ")))
		}
		*member = &value
	}
	return c, err
}

// limitsChange parses the arguments of `consign org limits`.
func limitsChange(args []string) (c identity.LimitsChange, err error) {
	pairs, err := assignments("org limits", args)
	limitations := identity.Limitations()
	for _, p := range pairs {
		name, value := p[0], p[1]
		i := slices.IndexFunc(limitations, func(l identity.Limitation) bool { return l.Name == name })
		if i < 0 {
			names := make([]string, len(limitations))
			for i, l := range limitations {
				names[i] = l.Name
			}
			return c, usageError(fmt.Sprintf("consign org limits: %s: is not a limit; use %s", name, strings.Join(names, ", ")))
		}
		if err := limitations[i].Set(&c, parseLimit(limitations[i].Kind, value)); err != nil {
			return c, usageError(fmt.Sprintf("consign org limits: %s: %v; %s restores the value of the plan", name, err, planDefault))
		}
	}
	return c, err
}

// parseLimit returns the value of a limit, nil for planDefault. Text that is no value of the kind is returned as it is.
func parseLimit(kind, value string) any {
	switch {
	case value == planDefault:
		return nil
	case kind == identity.LimitSwitch:
		return parseSwitch(value)
	case kind == identity.LimitHostname:
		return value
	}
	above, below, fraction := strings.Cut(value, "/")
	n, err := strconv.ParseFloat(above, 64)
	if fraction && err == nil && kind == identity.LimitRate { // 1/60 is one token per minute
		var d float64
		d, err = strconv.ParseFloat(below, 64)
		n /= d
	} else if fraction {
		return value
	}
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return value
	}
	return n
}

// parseSwitch returns the bool of a switch. Other text is returned as it is.
func parseSwitch(value string) any {
	switch value {
	case "on", "true":
		return true
	case "off", "false":
		return false
	}
	return value
}

// uploadVolume parses the arguments of `consign person limits`. nil is the server's default.
func uploadVolume(args []string) (gigabytes *float64, err error) {
	pairs, err := assignments("person limits", args)
	for _, p := range pairs {
		if p[0] != "uploadVolumeGb" {
			return nil, usageError(fmt.Sprintf("consign person limits: %s: is not a limit of a person; use uploadVolumeGb", p[0]))
		}
		switch n := parseLimit(identity.LimitVolume, p[1]).(type) {
		case string:
			return nil, usageError("consign person limits: uploadVolumeGb: must be a number of gigabytes")
		case float64:
			gigabytes = &n
		}
	}
	return gigabytes, err
}
