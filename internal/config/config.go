// Package config owns the settings of the program: one table, the tags of Config, from which the environment is read
// and validated, the effective configuration printed and the reference generated. Only app and cmd import it; all other
// packages get the values they need as arguments.
package config

import (
	"net/netip"
	"net/url"
	"time"
)

// Prefix begins the name of every variable.
const Prefix = "CONSIGN_"

// Config holds every setting (contract section 5 and the bracketed defaults of sections 1 to 4). The tags are the table:
// env is the name without prefix, default the value when unset or empty, otherwise says in words what an empty default
// becomes, oneof lists the allowed words, min and max bound a number or duration, secret masks the value, group opens
// a section of the reference.
type Config struct {
	PublicURL        *url.URL       `group:"Serving" env:"PUBLIC_URL" default:"http://localhost:8080" doc:"Where people reach this server: scheme, host and port of links in mails. Its host becomes the free organization's."`
	Listen           string         `env:"LISTEN" default:":8080" doc:"Address of the public listener."`
	AdminListen      string         `env:"ADMIN_LISTEN" default:"127.0.0.1:9090" doc:"Address of metrics, health and profiling; keep it private."`
	ShutdownDelay    time.Duration  `env:"SHUTDOWN_DELAY" otherwise:"none" doc:"Time from the signal to stop, when /readyz begins to answer 503, to the end of service: longer than a load balancer in front takes to notice."`
	IdentityBasePath string         `env:"IDENTITY_BASE_PATH" default:"/id/v3" doc:"Base path of the identity API."`
	TransferBasePath string         `env:"TRANSFER_BASE_PATH" default:"/transfer/v2" doc:"Base path of the transfer API."`
	TrustedProxies   []netip.Prefix `env:"TRUSTED_PROXIES" doc:"Addresses and CIDRs of proxies whose X-Forwarded headers are believed."`
	RequireHTTPS     bool           `env:"REQUIRE_HTTPS" otherwise:"on unless CONSIGN_PUBLIC_URL is http://localhost" doc:"Refuse requests that did not arrive over TLS, here or at a trusted proxy."`
	TLSCert          string         `env:"TLS_CERT" doc:"Certificate chain file (PEM), to end TLS here; needs CONSIGN_TLS_KEY."`
	TLSKey           string         `env:"TLS_KEY" doc:"Private key file (PEM) of CONSIGN_TLS_CERT."`
	CORSOrigins      []string       `env:"CORS_ORIGINS" doc:"Origins that may call the APIs from a browser, besides the organization's own hostnames."`
	RedirectOrigins  []string       `env:"REDIRECT_ORIGINS" doc:"Further origins that a federated login or a parked session may go to: https, or http on localhost."`

	DataDir                string `group:"Storage" env:"DATA_DIR" default:"./var" doc:"Directory of everything the server keeps on disk."`
	DatabaseURL            string `env:"DATABASE_URL" otherwise:"a private Postgres cluster in CONSIGN_DATA_DIR" doc:"Postgres to use, as postgres://user:password@host/name."`
	ListenDatabaseURL      string `env:"LISTEN_DATABASE_URL" otherwise:"CONSIGN_DATABASE_URL" doc:"The same database for LISTEN, when CONSIGN_DATABASE_URL leads through a pooler."`
	DatabaseMaxConnections int    `env:"DATABASE_MAX_CONNECTIONS" default:"16" min:"4" max:"1000" doc:"Connections to Postgres at most, one for LISTEN not counted."`
	SecretKey              []byte `env:"SECRET_KEY" secret:"true" otherwise:"made once in CONSIGN_DATA_DIR" doc:"32 bytes in base64, from which all keys at rest are derived; required with CONSIGN_DATABASE_URL."`
	SecretKeyPrevious      []byte `env:"SECRET_KEY_PREVIOUS" secret:"true" doc:"The former CONSIGN_SECRET_KEY, until everything made with it has expired."`
	StorageURL             string `env:"STORAGE_URL" otherwise:"file://CONSIGN_DATA_DIR/objects" doc:"Where files are kept: file:///directory, or s3://KEY:SECRET@bucket/prefix?endpoint=URL&region=NAME, of which all but the bucket may be left out (key and secret then come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role of the machine)."`
	StorageFloor           Floor  `env:"STORAGE_FLOOR" default:"2GiB,5%" doc:"Free space below which uploads are refused, so that the database and sign-in keep working: a size (500MB, 2GiB), a share of the volume (5%), or the lesser of both; 0 turns it off. It concerns the volume of CONSIGN_STORAGE_URL or, with a bucket, of the parts that wait in CONSIGN_DATA_DIR."`
	RedisURL               string `env:"REDIS_URL" doc:"Redis or Valkey that shares rate limits between replicas, as redis://user:password@host:6379/0, rediss:// or unix:///socket; empty: each has its own."`

	SMTPURL  string `group:"Mail" env:"SMTP_URL" otherwise:"files in CONSIGN_DATA_DIR/mail" doc:"Mail server, as smtp://user:password@host:587 or smtps://host."`
	MailFrom string `env:"MAIL_FROM" otherwise:"CONSIGN_PRODUCT_NAME, noreply at the host of CONSIGN_PUBLIC_URL" doc:"Sender of all mails, as Name <address>."`

	OIDCClients    string `group:"Identity" env:"OIDC_CLIENTS" doc:"JSON file with the external identity providers."`
	OIDCBinding    bool   `env:"OIDC_BINDING" default:"on" doc:"Bind a federated login by form post to the browser that began it; off: for clients that pass neither the cookie nor the claim on. Off lets an attacker who begins a login get the session of a person who completes it."`
	BaseDomain     string `env:"BASE_DOMAIN" doc:"Domain below which organizations may choose a hostname."`
	ClaimNamespace string `env:"CLAIM_NAMESPACE" default:"https://consign.dev/" doc:"Prefix of the tokens' own claims, a URL."`
	// Enumeration is "plain" or "strict"; read EnumerationStrict.
	Enumeration       string `env:"ENUMERATION" default:"plain" oneof:"plain,strict" doc:"strict: whether an address has an account is not told (GET /auth/exists, password reset)."`
	EnumerationStrict bool
	BcryptCost        int `env:"BCRYPT_COST" default:"12" min:"4" max:"20" doc:"Cost of password hashes; each step doubles the time of a login."`

	ProductName    string `group:"Names" env:"PRODUCT_NAME" default:"Consign" doc:"Name of the service in pages, mails, documents and authenticator apps."`
	ProductURL     string `env:"PRODUCT_URL" otherwise:"CONSIGN_PUBLIC_URL" doc:"Home page of the service."`
	ProviderName   string `env:"PROVIDER_NAME" otherwise:"CONSIGN_PRODUCT_NAME" doc:"Who runs it, as named in the environment and in documents."`
	ProviderURL    string `env:"PROVIDER_URL" otherwise:"CONSIGN_PRODUCT_URL" doc:"Home page of who runs it."`
	SupportContact string `env:"SUPPORT_CONTACT" doc:"Address or URL for people who need help."`
	AccentColor    string `env:"ACCENT_COLOR" otherwise:"a deep green" doc:"Colour of buttons and links in pages, as #rrggbb; an organization's theme overrides it."`
	BaseURLDrive   string `env:"BASE_URL_DRIVE" doc:"baseUrlDrive of the environment."`
	OnPremises     bool   `env:"ON_PREMISES" default:"on" doc:"onPremises of the environment."`

	LogFormat string `group:"Logs" env:"LOG_FORMAT" default:"json" oneof:"json,text" doc:"Form of a log line."`
	LogLevel  string `env:"LOG_LEVEL" default:"info" oneof:"debug,info,warn,error" doc:"Least severity that is logged."`

	AccessTokenLifetime      time.Duration `group:"Lifetimes" env:"ACCESS_TOKEN_LIFETIME" default:"10m" doc:"Access token."`
	IDTokenLifetime          time.Duration `env:"ID_TOKEN_LIFETIME" default:"30d" doc:"ID token, and so a login session."`
	SignupTokenLifetime      time.Duration `env:"SIGNUP_TOKEN_LIFETIME" default:"1h" doc:"ID token of a signup whose address is not verified."`
	MFATokenLifetime         time.Duration `env:"MFA_TOKEN_LIFETIME" default:"5m" doc:"Time for the second factor."`
	PreflightTokenLifetime   time.Duration `env:"PREFLIGHT_TOKEN_LIFETIME" default:"10m" doc:"Time for a federated login."`
	PickupTokenLifetime      time.Duration `env:"PICKUP_TOKEN_LIFETIME" default:"1m" doc:"Time to pick up a parked session."`
	DownloadTokenLifetime    time.Duration `env:"DOWNLOAD_TOKEN_LIFETIME" default:"1h" doc:"Download token of a transfer link."`
	DownloadResumeLifetime   time.Duration `env:"DOWNLOAD_RESUME_LIFETIME" default:"1h" doc:"Time to continue a download started with a one-time key."`
	ReservationLifetime      time.Duration `env:"RESERVATION_LIFETIME" default:"48h" doc:"Reservation and its token."`
	AnonymousSessionLifetime time.Duration `env:"ANONYMOUS_SESSION_LIFETIME" default:"1d" doc:"Cookie by which callers without token are told apart for rate limits."`
	VerificationKeyLifetime  time.Duration `env:"VERIFICATION_KEY_LIFETIME" default:"24h" doc:"Link that verifies an address."`
	ResetKeyLifetime         time.Duration `env:"RESET_KEY_LIFETIME" default:"1h" doc:"Link that resets a password."`
	SetPasswordLifetime      time.Duration `env:"SET_PASSWORD_LIFETIME" default:"15m" doc:"Time to set the new password after a reset."`
	InvitationLifetime       time.Duration `env:"INVITATION_LIFETIME" default:"14d" doc:"Invitation to an organization."`
	UnverifiedEmailLifetime  time.Duration `env:"UNVERIFIED_EMAIL_LIFETIME" default:"7d" doc:"Time until an address that nobody verified is removed."`
	YoungSession             time.Duration `env:"YOUNG_SESSION" default:"15m" doc:"Age up to which a login may register authenticators."`
	RecentEmail              time.Duration `env:"RECENT_EMAIL" default:"180d" doc:"Age up to which a proof of the primary address counts for that."`
	SigningKeyLifetime       time.Duration `env:"SIGNING_KEY_LIFETIME" default:"30d" doc:"Time that a key signs tokens."`
	SigningKeyLead           time.Duration `env:"SIGNING_KEY_LEAD" default:"1h" doc:"Time that a key is published before it signs."`
	EventRetention           time.Duration `env:"EVENT_RETENTION" default:"7d" doc:"Events that a client can catch up on."`
	AuditRetention           time.Duration `env:"AUDIT_RETENTION" default:"365d" doc:"Audit entries."`
	TransferRetention        time.Duration `env:"TRANSFER_RETENTION" default:"90d" doc:"What stays of an erased transfer: identifiers, times, sizes, addresses."`
	ExpiryWarning            time.Duration `env:"EXPIRY_WARNING" default:"3d" doc:"Notice before a transfer expires."`
	OrphanAge                time.Duration `env:"ORPHAN_AGE" default:"7d" min:"1h" doc:"Age from which stored bytes without a row are swept."`

	RateLimit              bool   `group:"Limits" env:"RATE_LIMIT" default:"on" doc:"off: no general and address buckets, for load tests; the others stay."`
	AddressBucket          Bucket `env:"ADDRESS_BUCKET" default:"600,10/s" doc:"New anonymous sessions and invalid tokens, per client address."`
	UploadBucket           Bucket `env:"UPLOAD_BUCKET" default:"1000,50/s" doc:"Upload calls, per reservation."`
	DownloadBucket         Bucket `env:"DOWNLOAD_BUCKET" default:"200,10/s" doc:"Downloads, per session or delivery."`
	NewTransferBucket      Bucket `env:"NEW_TRANSFER_BUCKET" default:"20,1/60s" doc:"New transfers per mailbox owner, as default limitations have it."`
	UploadVolumeGB         int    `env:"UPLOAD_VOLUME_GB" default:"50" min:"0" max:"1000000" doc:"Monthly upload volume of a person without an organization, in GB of 10^9 bytes."`
	UploadConfirmationsDay int    `env:"UPLOAD_CONFIRMATIONS_PER_DAY" default:"10" min:"0" max:"100000" doc:"Upload confirmation mails to one address a day."`
	AvailableTTL           []int  `env:"AVAILABLE_TTL" default:"1,3,7,14,30" min:"1" max:"3650" doc:"Lives of a transfer that senders choose from, in days."`
	DefaultTTL             int    `env:"DEFAULT_TTL" default:"7" min:"1" max:"3650" doc:"Life of a transfer whose sender chose none, in days; one of CONSIGN_AVAILABLE_TTL."`
	AvatarMaxBytes         int    `env:"AVATAR_MAX_BYTES" default:"10485760" min:"1024" max:"1073741824" doc:"Size of an uploaded picture at most."`
	AvatarMaxPixels        int    `env:"AVATAR_MAX_PIXELS" default:"50000000" min:"1024" max:"1000000000" doc:"Pixels of an uploaded picture at most."`
}

// Bucket is a leaky bucket as a setting: capacity in tokens, drain rate in tokens per second. Its text form is "600,10/s" or,
// with a span of time, "20,1/60s".
type Bucket struct {
	Capacity  int
	PerSecond float64
	text      string
}

// Floor is free space as a setting: the lesser of a size in bytes and a share of the volume in percent, as far as they are
// given. Its text form is "2GiB,5%".
type Floor struct {
	Bytes   int64
	Percent float64
	text    string
}
