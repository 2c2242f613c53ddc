// Package handler maps the webhook domain to HTTP, as a part of the identity API.
package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/webhook/service"
)

// Handler serves the routes of webhooks.
type Handler struct {
	service *service.Service
	buckets *httpapi.Buckets
	hosts   *hosts.Directory // builds links
	base    string           // path of the identity API
}

// New returns a Handler.
func New(s *service.Service, b *httpapi.Buckets, h *hosts.Directory, base string) *Handler {
	return &Handler{s, b, h, base}
}

func caller(r *http.Request) token.Caller { return token.CallerFrom(r.Context()) }

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
