package handler

import (
	"reflect"
	"testing"
)

// TestEnvironmentEqual: equal compares every member of the environment. Otherwise a cached answer would be sent after a change.
func TestEnvironmentEqual(t *testing.T) {
	t.Parallel()
	body := environmentResponse{ServerVersion: "1", AvailableTTL: []int32{1, 7}, DefaultTTL: 7, PriorityEnabled: true, PinningEnabled: true,
		ProtectionLevel: "low"}
	if !body.equal(environmentResponse{ServerVersion: "1", AvailableTTL: []int32{1, 7}, DefaultTTL: 7, PriorityEnabled: true,
		PinningEnabled: true, ProtectionLevel: "low"}) {
		t.Error("the same is not equal")
	}
	kind := reflect.TypeFor[environmentResponse]()
	for i := range kind.NumField() {
		other := body
		reflect.ValueOf(&other).Elem().Field(i).SetZero()
		if body.equal(other) {
			t.Errorf("%s makes no difference", kind.Field(i).Name)
		}
	}
}
