//go:build race

package imaging_test

// shrink divides the sides of the pictures that memory is measured with.
const shrink = 12
