// Package httpserver is the request pipeline of both APIs (contract 1): it takes a request from the listener to its handler and
// writes the access log. On the way are the request id, the client's address behind trusted proxies, the HTTPS rule, the host,
// CORS, maintenance, the router, authentication, rate limits, deadlines and errors.
//
// It owns no resource and no rule of a domain. The domains' route tables declare who may call what (package httpapi); packages
// token, ratelimit and hosts understand tokens, buckets and host names.
//
// Read Server.serve for every request, then Server.call for a route.
package httpserver
