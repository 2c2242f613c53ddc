//go:build !unix

package floor

import "errors"

func measure(string) (free, size int64, err error) { return 0, 0, errors.ErrUnsupported }
