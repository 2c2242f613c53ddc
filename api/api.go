// Package api embeds the OpenAPI 3.1 documents of both APIs and of the console's. A test compares their operations with the routes of the
// server.
package api

import _ "embed" // for the documents below

//go:embed identity-v3.yaml
var identity []byte

//go:embed transfer-v2.yaml
var transfer []byte

//go:embed admin-v1.yaml
var admin []byte

// IdentityV3 returns the description of the identity API, in YAML. The caller must not change it.
func IdentityV3() []byte { return identity }

// TransferV2 returns the description of the transfer API, in YAML. The caller must not change it.
func TransferV2() []byte { return transfer }

// AdminV1 returns the description of the API of the operators' console, in YAML. The caller must not change it.
func AdminV1() []byte { return admin }
