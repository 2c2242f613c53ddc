// Package httpapi owns what every request and answer of both APIs have in common (contract 1): the way of a request
// from the listener to its handler, the error body, strict JSON decoding, JSON answers, rate-limit headers and
// server-sent events. Handlers return an error and this package is the only one that turns it into a status.
//
// It owns no resource and no rule of a domain; who may call what is declared in the domains' route tables, and tokens,
// buckets and hostnames are understood by packages token, ratelimit and hosts.
//
// The life of a request is the function API.serve, and for a route API.call, from top to bottom.
package httpapi
