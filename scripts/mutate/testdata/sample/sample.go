// Package sample has each kind of operator that mutants change.
package sample

import "time"

const limit = 2 * 3 // constants have no mutants

// Count counts the values up to a limit; one of several operators in a line, without blanks around some.
func Count(values []int, most int) (n int) {
	for i := 0; i < len(values); i++ {
		if values[i] <= most && values[i] != -most {
			n++
		}
	}
	return n
}

// Late is tested for values that are far from its bound.
func Late(d time.Duration) bool { return d > limit*time.Second }

// Mix keeps the order of operators.
func Mix(a, b, c int) int {
	sum := a*b + c/2
	sum -= -c
	return sum
}

// Never is not reached.
func Never(err error) bool { return err == nil }
