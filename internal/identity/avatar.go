package identity

// Avatar is one stored size of a person's or an organization's avatar.
type Avatar struct {
	Height int16  // pixels; the width is the same
	Image  []byte // JPEG
	ETag   string // quoted (RFC 9110, section 8.8.3)
}
