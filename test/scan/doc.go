// Package scan tests inspection with a real clamd and a real c-icap: make test-scan.
package scan
