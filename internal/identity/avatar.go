package identity

// Avatar is one stored size of a person's or an organization's avatar.
type Avatar struct {
	Height int16  // pixels; the width is the same
	Image  []byte // JPEG
	ETag   string // quoted, as HTTP wants it
}
