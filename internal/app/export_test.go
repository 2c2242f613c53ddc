package app

// NewDrained is newDrained.
var NewDrained = newDrained
