// Package strictjson reads request bodies, JSON and forms, into Go values (contract 1.4). It is stricter than encoding/json:
// it refuses duplicate members, member names in another case, invalid UTF-8 and NUL, and it reports one detail for each
// value that does not fit instead of the first one only.
//
// It knows no resource and writes no answer: its errors are *fault.Error values, which package httpapi turns into answers.
package strictjson
