// Package api embeds the OpenAPI 3.1 documents of both APIs. A test compares their operations with the routes of the
// server.
package api

import _ "embed" // for the documents below

//go:embed identity-v3.yaml
var identity []byte

//go:embed transfer-v2.yaml
var transfer []byte

// IdentityV3 returns the description of the identity API, in YAML. The caller must not change it.
func IdentityV3() []byte { return identity }

// TransferV2 returns the description of the transfer API, in YAML. The caller must not change it.
func TransferV2() []byte { return transfer }
