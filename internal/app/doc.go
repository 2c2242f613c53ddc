// Package app builds every object of Consign (New), mounts both APIs on one chi mux, and serves until the context ends (Run).
//
// It is the only place where the identity and transfer domains meet, and with cmd the only reader of package config.
// It owns no rule of either domain.
package app
