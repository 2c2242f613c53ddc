// Package campaign holds long-running tests of the built binary: crashes, restarts, memory use and clusters of replicas.
// Run them with make test-crash, test-memory, test-faults, test-cluster and test-upgrade.
package campaign
