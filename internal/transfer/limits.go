package transfer

// Limits of this domain. Lengths of texts are those of package text (contract 1.14).
const (
	DefaultPage       = 50       // transfers in a list, when the request states no limit
	MaxPage           = 200      // transfers in a list
	MaxAttachments    = 1_000    // files that one request announces
	MaxGroupMailboxes = 1_000    // mailboxes of a group
	MaxOwnNetworks    = 20       // networks of the house of a mailbox's owner
	MaxFilterEntries  = 100      // entries of a MIMEFilter
	MaxFields         = 1_000    // values of a reservation's fields
	MaxFieldsBytes    = 64 << 10 // names and values of a reservation's fields

	MaxParts    = 1_000 // parts of an object
	PartsAtOnce = 6     // of an object, on one replica
	MaxPartials = 100   // partial uploads of a final one, and of a reservation without a final one

	maxVanityLink = 64  // bytes
	maxClientID   = 128 // bytes
	maxMIMEName   = 127 // bytes of either half of a MIME type (RFC 6838, 4.2)

	// Settings of an adminunit.
	maxTTL            = 3_650 // days
	maxTTLs           = 100   // entries of availableTtl
	maxUnitFiles      = 100_000
	maxUnitFileMB     = 10_000_000 // 10 TB
	maxUnitRecipients = 10_000

	// Cost of compiling a fieldsSchema and checking fields against it. At the limits, a check takes less than a second.
	maxSchemaSteps  = 5_000      // subschemas visited for one value, with references followed
	maxFieldChecks  = 250_000    // subschemas times values
	maxPatternBytes = 1_000      // of one regular expression
	maxPatternSize  = 5_000      // instructions of one regular expression
	maxPatternsSize = 50_000     // instructions of all regular expressions
	maxPatternSteps = 20_000_000 // instructions times bytes of values
)
