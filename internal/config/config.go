// Package config owns the settings of the program. The tags of Config are the table of settings. The environment is read and
// validated by it, the effective settings are printed from it, and the reference is generated from it. Only app and cmd import
// this package. All other packages get the values they need as arguments.
package config

import (
	"net/netip"
	"net/url"
	"time"
)

// Prefix is the prefix of all variable names.
const Prefix = "CONSIGN_"

// The values of Config.AdminConsole.
const (
	ConsoleOff      = "off"
	ConsoleListener = "listener"
	ConsolePublic   = "public"
)

// Config holds every setting (contract section 5 and the bracketed defaults of sections 1 to 4). The tags are:
//   - env: the name without prefix
//   - default: the value when unset or empty
//   - otherwise: what an empty default becomes, in words
//   - oneof: the allowed words
//   - min, max: bounds of a number or duration
//   - secret: the value is masked
//   - group: starts a section of the reference
//   - own: replicas may differ in it
//   - doc: the description
type Config struct {
	Constants
	given map[string]bool // names of the variables that the environment has

	PublicURL      *url.URL       `group:"What people set first" env:"PUBLIC_URL" default:"http://localhost:8080" doc:"Public address of this server: scheme, host and port of the links in mails. Its host is the free organization's hostname."`
	Listen         string         `env:"LISTEN" own:"true" default:":8080" doc:"Address of the public listener."`
	TrustedProxies []netip.Prefix `env:"TRUSTED_PROXIES" doc:"Addresses and CIDRs of proxies whose X-Forwarded headers are trusted."`
	TLSCert        string         `env:"TLS_CERT" own:"true" doc:"Certificate chain file (PEM). The server then terminates TLS itself. Needs CONSIGN_TLS_KEY."`
	TLSKey         string         `env:"TLS_KEY" own:"true" doc:"Private key file (PEM) of CONSIGN_TLS_CERT."`
	DataDir        string         `env:"DATA_DIR" own:"true" default:"./var" doc:"Directory of all files that the server writes."`
	DatabaseURL    string         `env:"DATABASE_URL" otherwise:"a private Postgres cluster in CONSIGN_DATA_DIR" doc:"Postgres database, as postgres://user:password@host/name."`
	SecretKey      []byte         `env:"SECRET_KEY" secret:"true" otherwise:"made once in CONSIGN_DATA_DIR" doc:"32 bytes in base64. All keys at rest are derived from it. Required with CONSIGN_DATABASE_URL."`
	StorageURL     string         `env:"STORAGE_URL" otherwise:"file://CONSIGN_DATA_DIR/objects" doc:"Storage of file bytes: file:///directory, or s3://KEY:SECRET@bucket/prefix?endpoint=URL&region=NAME. Only the bucket is required. Without key and secret, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the role of the machine are used."`
	RedisURL       string         `env:"REDIS_URL" doc:"Redis or Valkey that shares rate limits between replicas, as redis://user:password@host:6379/0, rediss:// or unix:///socket. Empty: each replica counts alone."`
	SMTPURL        string         `env:"SMTP_URL" otherwise:"files in CONSIGN_DATA_DIR/mail" doc:"Mail server, as smtp://user:password@host:587 or smtps://host."`
	MailFrom       string         `env:"MAIL_FROM" otherwise:"CONSIGN_PRODUCT_NAME, noreply at the host of CONSIGN_PUBLIC_URL" doc:"Sender of all mails, as Name <address>."`
	ProductName    string         `env:"PRODUCT_NAME" default:"Consign" doc:"Name of the service in pages, mails, documents and authenticator apps."`
	SupportContact string         `env:"SUPPORT_CONTACT" doc:"Mail address or URL for support."`
	OIDCClients    string         `env:"OIDC_CLIENTS" own:"true" doc:"JSON file with the external identity providers."`

	AdminListen     string        `group:"Serving" env:"ADMIN_LISTEN" own:"true" default:"127.0.0.1:9090" doc:"Address of metrics, health, the console (CONSIGN_ADMIN_CONSOLE) and profiles (CONSIGN_PPROF); keep it private."`
	AdminConsole    string        `env:"ADMIN_CONSOLE" default:"listener" oneof:"off,listener,public" doc:"Where operators reach the console (/admin) and its API (/admin/v1). listener: at CONSIGN_ADMIN_LISTEN only, over loopback (an SSH tunnel) or HTTPS. public: also at the public listener, at hosts without an organization of their own. off: nowhere. Nobody is an operator until consign admin add."`
	AdminHosts      []string      `env:"ADMIN_HOSTS" own:"true" doc:"Names at which CONSIGN_ADMIN_LISTEN shows metrics and profiles, separated by commas, besides localhost and CONSIGN_PUBLIC_URL's."`
	RequireHTTPS    bool          `env:"REQUIRE_HTTPS" otherwise:"on unless CONSIGN_PUBLIC_URL is http://localhost" doc:"Refuses requests that reached neither this server nor a trusted proxy over TLS."`
	HSTSSubdomains  bool          `env:"HSTS_SUBDOMAINS" default:"off" doc:"Let HSTS include all subdomains of each host: only when all of them are served over HTTPS."`
	CORSOrigins     []string      `env:"CORS_ORIGINS" doc:"Origins that may call the APIs from a browser at every host, besides the organization's own hostnames. For uploads only, an organization lists origins itself."`
	RedirectOrigins []string      `env:"REDIRECT_ORIGINS" doc:"Further origins that a federated login or a parked session may redirect to: https, or http on localhost."`
	ShutdownDelay   time.Duration `env:"SHUTDOWN_DELAY" own:"true" otherwise:"5s with CONSIGN_TRUSTED_PROXIES, else none" doc:"Time between the stop signal, after which /readyz answers 503, and the end of service. Choose it longer than a load balancer needs to notice."`
	LegacyAPI       bool          `env:"LEGACY_API" default:"off" doc:"Serves the part of an older API (/api/skp/v1, /api/id/v3) that the command-line client teambeamjs 1.0.0 uses. It is deprecated."`
	Pprof           bool          `env:"PPROF" own:"true" default:"off" doc:"Serve profiles of the program (/debug/pprof/) at CONSIGN_ADMIN_LISTEN. They show what is in memory."`
	LogFormat       string        `env:"LOG_FORMAT" own:"true" default:"json" oneof:"json,text" doc:"Format of log lines."`
	LogLevel        string        `env:"LOG_LEVEL" own:"true" default:"info" oneof:"debug,info,warn,error" doc:"Lowest level that is logged."`

	ListenDatabaseURL      string `group:"Database and storage" env:"LISTEN_DATABASE_URL" otherwise:"CONSIGN_DATABASE_URL" doc:"Direct URL of the same database for LISTEN. Set it when CONSIGN_DATABASE_URL goes through a connection pooler."`
	DatabaseMaxConnections int    `env:"DATABASE_MAX_CONNECTIONS" own:"true" default:"16" min:"4" max:"1000" doc:"Maximum number of connections to Postgres, without the one for LISTEN."`
	SecretKeyPrevious      []byte `env:"SECRET_KEY_PREVIOUS" secret:"true" doc:"The previous CONSIGN_SECRET_KEY. Keep it until everything made with it has expired."`
	StorageEncryption      bool   `env:"STORAGE_ENCRYPTION" otherwise:"on for s3://, off for file://" doc:"Encrypts new files before they are stored, each with a key of its own in the database. Files that are stored already stay as they are; consign storage encrypt encrypts them. All replicas need the same value."`
	StorageSecondURL       string `env:"STORAGE_SECOND_URL" doc:"A second storage, in the form of CONSIGN_STORAGE_URL, while consign storage move moves files from it (operations.md). All replicas have both."`
	KMSCommand             string `env:"KMS_COMMAND" own:"true" doc:"Program and arguments, separated by spaces, that wraps the key of the keys of files: it is called with one more argument, wrap or unwrap, and reads and writes base64. It runs when a server starts. Without it, the keys of files are sealed by CONSIGN_SECRET_KEY."`
	S3DirectDownloads      bool   `env:"S3_DIRECT_DOWNLOADS" default:"off" doc:"Answers a download of a file by a program with a redirect to the bucket, at a URL that is valid for a minute. The bucket's address must be reachable for clients. Browsers, one-time keys, ranges, archives, encrypted files (CONSIGN_STORAGE_ENCRYPTION), and transfers whose downloads are limited are served by this server as before."`
	StorageFloor           Floor  `env:"STORAGE_FLOOR" own:"true" default:"2GiB,5%" doc:"Free space below which uploads are refused, and below half of it everything new, so that the database and sign-in keep working. A size (500MB, 2GiB), a share of the volume (5%), or the lesser of both. 0 turns it off. It applies to the volume of CONSIGN_STORAGE_URL or, with a bucket, of CONSIGN_DATA_DIR."`

	ProductURL      string `group:"Names" env:"PRODUCT_URL" otherwise:"CONSIGN_PUBLIC_URL" doc:"Home page of the service."`
	ProviderName    string `env:"PROVIDER_NAME" otherwise:"CONSIGN_PRODUCT_NAME" doc:"Name of the operator, in the environment and in documents."`
	ProviderURL     string `env:"PROVIDER_URL" otherwise:"CONSIGN_PRODUCT_URL" doc:"Home page of the operator."`
	SecurityContact string `env:"SECURITY_CONTACT" doc:"Mail address or URL for reports of vulnerabilities, in /.well-known/security.txt (RFC 9116). Empty: that file does not exist."`
	AccentColor     string `env:"ACCENT_COLOR" otherwise:"a deep green" doc:"Colour of buttons and links in pages, as #rrggbb. An organization's theme overrides it."`
	BaseURLDrive    string `env:"BASE_URL_DRIVE" doc:"baseUrlDrive of the environment."`
	OnPremises      bool   `env:"ON_PREMISES" default:"on" doc:"onPremises of the environment."`

	BaseDomain     string `group:"Sign-in" env:"BASE_DOMAIN" doc:"Parent domain of the hostnames that organizations may choose."`
	ClaimNamespace string `env:"CLAIM_NAMESPACE" default:"https://consign.dev/" doc:"URL that prefixes the private claims in tokens."`
	// Enumeration is "plain" or "strict"; read EnumerationStrict.
	Enumeration             string `env:"ENUMERATION" default:"plain" oneof:"plain,strict" doc:"strict: answers do not reveal whether an address has an account (GET /auth/exists, password reset)."`
	EnumerationStrict       bool
	PasswordMinimum         int           `env:"PASSWORD_MINIMUM" default:"12" min:"8" max:"64" doc:"Least number of characters in a new password. Shorter ones that people have stay valid."`
	BcryptCost              int           `env:"BCRYPT_COST" default:"12" min:"4" max:"20" doc:"bcrypt cost of password hashes. Each step doubles the time of a login."`
	YoungSession            time.Duration `env:"YOUNG_SESSION" default:"15m" doc:"Maximum age of a login that may register authenticators, change addresses, and delete the account or the organization without a password."`
	AccessTokenLifetime     time.Duration `env:"ACCESS_TOKEN_LIFETIME" default:"10m" doc:"Lifetime of an access token."`
	IDTokenLifetime         time.Duration `env:"ID_TOKEN_LIFETIME" default:"30d" doc:"Lifetime of an ID token, and so of a login session."`
	SessionIdle             time.Duration `env:"SESSION_IDLE" default:"30d" min:"1h" doc:"Time after which an unused login session ends."`
	SigningKeyLifetime      time.Duration `env:"SIGNING_KEY_LIFETIME" default:"30d" min:"1h" doc:"Time for which a key signs tokens. It is published for a 720th of that time before it signs."`
	SigningKeyLead          time.Duration // for which a key is published before it signs
	ResetKeyLifetime        time.Duration `env:"RESET_KEY_LIFETIME" default:"1h" doc:"Lifetime of a link that resets a password."`
	InvitationLifetime      time.Duration `env:"INVITATION_LIFETIME" default:"14d" doc:"Lifetime of an invitation to an organization."`
	UnverifiedEmailLifetime time.Duration `env:"UNVERIFIED_EMAIL_LIFETIME" default:"7d" doc:"Time until an unverified address is removed."`

	AvailableTTL       []int         `group:"Transfers" env:"AVAILABLE_TTL" default:"1,3,7,14,30" min:"1" max:"3650" doc:"Lifetimes of a transfer that senders choose from, in days."`
	DefaultTTL         int           `env:"DEFAULT_TTL" default:"7" min:"1" max:"3650" doc:"Lifetime of a transfer whose sender chose none, in days. One of CONSIGN_AVAILABLE_TTL."`
	ExpiryWarning      time.Duration `env:"EXPIRY_WARNING" default:"3d" doc:"Time before the expiry of a transfer at which people are warned."`
	ExpiryGrace        time.Duration `env:"EXPIRY_GRACE" default:"7d" doc:"Time after its expiry for which the sender can extend a transfer. Recipients do not reach it. Its bytes are kept and count as volume. 1s: they are erased at the expiry."`
	ForwardVolume      bool          `env:"FORWARD_VOLUME" default:"on" doc:"The bytes of a forwarded transfer count as volume of the person who forwards it, although they are stored once. Off: they count for the first sender only, as long as that transfer lives."`
	UploadVolumeGB     int           `env:"UPLOAD_VOLUME_GB" default:"50" min:"0" max:"1000000" doc:"Monthly upload volume of a person, in GB of 10^9 bytes, and of an organization that a person makes, until an operator sets its volumes."`
	RecipientsDay      int           `env:"RECIPIENTS_PER_DAY" default:"1000" min:"1" max:"1000000" doc:"Recipients that the transfers of one account may have on a day (UTC)."`
	YoungRecipientsDay int           `env:"YOUNG_RECIPIENTS_PER_DAY" default:"100" min:"1" max:"1000000" doc:"The same for an account younger than a week."`
	NewTransferBucket  Bucket        `env:"NEW_TRANSFER_BUCKET" default:"240,1/10s" doc:"New transfers per mailbox owner: what the organization for people without one gets at the first start. Later consign org set changes newTransferLimit and newTransferDrainRate."`
	ReservedLinks      []string      `env:"RESERVED_LINKS" default:"abuse,account,accounts,admin,administrator,api,auth,billing,contact,help,helpdesk,hostmaster,login,mail,mailer-daemon,nobody,no-reply,noc,official,operator,password,payment,postmaster,privacy,root,security,service,signin,signup,staff,support,system,webmaster,www" doc:"Vanity links that nobody may take, apart from consign mailbox create. Dots, hyphens and underscores in them do not matter. A value replaces the whole list."`

	StrangerShare                     int `group:"Strangers" env:"STRANGER_SHARE" default:"25" min:"1" max:"100" doc:"Percent that one client network may take of what strangers may use: open reservations and their bytes at a mailbox and at an organization, new transfers at a mailbox, mails to its owner, and codes, verification and reset mails to one address."`
	StrangerReservations              int `env:"STRANGER_RESERVATIONS" default:"200" min:"1" max:"10000" doc:"Open reservations of strangers at one mailbox."`
	StrangerUnconfirmedGB             int `env:"STRANGER_UNCONFIRMED_GB" default:"100" min:"1" max:"1000000" doc:"Bytes in open reservations of strangers at one mailbox, in GB."`
	StrangerOrganizationReservations  int `env:"STRANGER_ORGANIZATION_RESERVATIONS" default:"2000" min:"0" max:"1000000" doc:"Open reservations of strangers at all mailboxes of one organization; 0: no limit. People without one have no such limit, but one client network has its share of it at all of them together."`
	StrangerOrganizationUnconfirmedGB int `env:"STRANGER_ORGANIZATION_UNCONFIRMED_GB" default:"500" min:"0" max:"1000000" doc:"The same for bytes in open reservations, in GB."`
	StrangerMailsDay                  int `env:"STRANGER_MAILS_PER_DAY" default:"50" min:"1" max:"100000" doc:"Mails a day (UTC) to the owner of a mailbox about deliveries of strangers. Later ones of the day are in the inbox only."`

	Uploads            int    `group:"Load" env:"UPLOADS" own:"true" default:"1024" min:"1" max:"1000000" doc:"Parallel uploads of a replica; below its limit of open files."`
	NetworkUploads     int    `env:"NETWORK_UPLOADS" default:"64" min:"1" max:"1000000" doc:"Parallel uploads of one client network on a replica."`
	ReservationUploads int    `env:"RESERVATION_UPLOADS" default:"16" min:"1" max:"1000000" doc:"Parallel uploads to one reservation on a replica."`
	RateLimit          bool   `env:"RATE_LIMIT" default:"on" doc:"off: for load tests. The buckets that only bound the load of one client are off; those against guesses, and against mails and new transfers to others, stay."`
	AddressBucket      Bucket `env:"ADDRESS_BUCKET" default:"600,10/s" doc:"New anonymous sessions and invalid tokens, per client address."`

	EventRetention    time.Duration `group:"Retention" env:"EVENT_RETENTION" default:"7d" doc:"Time for which events are kept for clients that catch up."`
	AuditRetention    time.Duration `env:"AUDIT_RETENTION" default:"365d" doc:"Time for which audit entries are kept. They are deleted by whole months."`
	AuditStream       string        `env:"AUDIT_STREAM" doc:"Where each audit entry is sent, as JSON in a chain of hashes: syslog+tls://host:6514 (RFC 5424 over TLS; ?ca=FILE for its authority, &cert=FILE&key=FILE for a certificate of this server), or file:///name, to which lines are appended. Empty: nowhere."`
	TransferRetention time.Duration `env:"TRANSFER_RETENTION" default:"90d" doc:"Time for which the record of an ended transfer is kept: identifiers, times, sizes, addresses."`
	InfectedRetention time.Duration `env:"INFECTED_RETENTION" default:"7d" min:"0s" doc:"Time after the finding at which the bytes of an infected file are deleted."`

	ScannerURL     string        `group:"Inspection" env:"SCANNER_URL" doc:"Malware scanner that reads every delivered file: clamd://host:3310, clamd:///path/of/socket or icap://host:1344/service. Empty: nothing is inspected and nothing is held."`
	ScannerLimitMB int           `env:"SCANNER_LIMIT_MB" default:"100" min:"1" max:"100000000" doc:"MB of a file that are sent to the scanner. A larger file is partly read, never clean. At most what the engine reads: StreamMaxLength and MaxFileSize of clamd.conf (100 MiB by default), which never reads 2 GiB or more."`
	ScannerTimeout time.Duration `env:"SCANNER_TIMEOUT" default:"3m" min:"1s" doc:"Time for the scanner's answer after the last byte. Longer than MaxScanTime of clamd.conf (2 minutes by default)."`
	ScannerStreams int           `env:"SCANNER_STREAMS" own:"true" default:"4" min:"1" max:"64" doc:"Files that a replica sends to the scanner at a time; at most MaxThreads of clamd.conf (10 by default)."`

	LogWitnesses []string `group:"Receipts and webhooks" env:"LOG_WITNESSES" doc:"Witnesses that cosign the log of receipts (C2SP tlog-witness), each as KEY URL, separated by commas: the key as name+hash+base64 and the address before /add-checkpoint."`
	TSAURL       string   `env:"TSA_URL" doc:"Time stamp service (RFC 3161) that stamps the log of receipts. Nothing waits for it."`
	WebhookAllow []string `env:"WEBHOOK_ALLOW" doc:"Hosts, addresses and networks (CIDR), separated by commas, that may receive webhooks although they are private, belong to this server, or have no TLS. The author of a webhook sees the first bytes of each answer."`
}

// Bucket is a leaky bucket as a setting: capacity in tokens, drain rate in tokens per second. The text form is "600,10/s", or
// "20,1/60s" with a period other than one second.
type Bucket struct {
	Capacity  int
	PerSecond float64
	text      string
}

// Floor is free space as a setting: the lesser of a size in bytes and a share of the volume in percent, as far as they are
// given. The text form is "2GiB,5%".
type Floor struct {
	Bytes   int64
	Percent float64
	text    string
}
