package app

import (
	"github.com/consign-dev/consign/internal/httpapi"
	identityhandler "github.com/consign-dev/consign/internal/identity/handler"
	"github.com/consign-dev/consign/internal/ratelimit"
	transferhandler "github.com/consign-dev/consign/internal/transfer/handler"
	"github.com/consign-dev/consign/internal/transfer/legacy"
)

// mountLegacy mounts the older API (contract 4.23).
func (a *App) mountLegacy(identityAPI *identityhandler.Handler, transferAPI *transferhandler.Handler) {
	c := a.config
	adapter := legacy.New(legacy.Options{
		Service: a.Transfer, Handler: transferAPI, Hosts: a.hosts, BasePath: c.TransferBasePath,
		UploadBucket: ratelimit.Limit{Capacity: c.UploadBucket.Capacity, PerSecond: c.UploadBucket.PerSecond},
	})
	identity, access := legacy.IdentityRoutes(identityAPI.Routes(), c.IdentityBasePath)
	a.API.Mount(legacy.IdentityBase, httpapi.Identity, identity)
	a.API.Mount(legacy.TransferBase, httpapi.Identity, []httpapi.Route{access})
	a.API.Mount(legacy.TransferBase, httpapi.Transfer, adapter.Routes())
	a.API.Mount("", httpapi.Transfer, []httpapi.Route{adapter.PageRoute()})
}
