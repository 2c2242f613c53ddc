package transfer

// What is kept above a bound that all strangers share, for networks that hold little. Somebody with a whole prefix and 200 addresses
// leaves room in it.
const (
	// KeptReservations is how many times the bound of open reservations fits above it. A network may have one there.
	KeptReservations = 2
	// KeptBytes is the part of the bound of unconfirmed bytes that fits above it, one in this many.
	KeptBytes = 4
	// LittleBytes is the part of that bound that a network may hold there, one in this many.
	LittleBytes = 1000
)

// StrangerLimits bound what strangers may occupy at one mailbox and at one organization: all of them together, and those of one
// client network.
type StrangerLimits struct {
	NetworkShare int   // percent that one client network may take of each of these, and of new transfers and codes
	Reservations int   // open reservations
	MaxFiles     int32 // objects of one reservation
	Mails        int   // mails a day to the owner about deliveries of strangers

	// House: the client is of the house of the mailbox's owner, so it has no share of what is the mailbox's.
	House bool

	OrganizationReservations int // open reservations at all mailboxes of an organization; 0: no bound
}
