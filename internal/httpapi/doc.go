// Package httpapi is what handlers of both APIs use (contract 1): the types of a route table, answers in JSON, lists,
// server-sent events, documents, errors, and the buckets a handler takes from itself.
//
// It serves nothing: package httpserver takes a request to its handler and package strictjson decodes bodies. Handlers return
// an error and WriteError is the only function that turns one into a status.
package httpapi
