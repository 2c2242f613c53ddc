// Checks of bucket, KMS command, Redis, mail server, the DNS records of mails, and the malware scanner.

package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/blob/s3"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/ratelimit/redis"
)

const slowRedis = 5 * time.Millisecond

// bucket: the credentials may do what the store does.
func (r *run) bucket(ctx context.Context) []Finding {
	if r.Bucket == nil {
		return nil // the check storage
	}
	t, err := s3.Try(ctx, *r.Bucket)
	for _, trouble := range []struct {
		err              error
		id, advice, says string
	}{
		{s3.ErrKey, "key", "Correct the key in CONSIGN_STORAGE_URL.", "The service does not know the access key"},
		{s3.ErrSecret, "secret", "Correct the secret in CONSIGN_STORAGE_URL; percent-encode special characters.",
			"The secret is not that of the access key"},
		{s3.ErrRights, "rights", "Give the credentials the rights that docs/use/operations.md lists.",
			"The credentials are accepted and have no right to the bucket"},
		{s3.ErrNoBucket, "none", "Create it, or correct CONSIGN_STORAGE_URL.", "There is no such bucket"},
		{s3.ErrRegion, "region", "Correct region in CONSIGN_STORAGE_URL.", "The bucket is in another region"},
		{s3.ErrClock, "clock", "Set the clocks of both machines by NTP.", "The clocks of the service and of this machine differ"},
	} {
		if errors.Is(err, trouble.err) {
			return found("bucket."+trouble.id, Error, trouble.advice, trouble.says+": %s.", short(err))
		}
	}
	if err != nil {
		return found("bucket.unreachable", Error, "Compare the endpoint in CONSIGN_STORAGE_URL, and the firewall.",
			"The bucket is not reached: %s.", short(err))
	}
	var all []Finding
	for _, right := range t.Rights {
		if right.Err != nil {
			id := "bucket." + strings.ReplaceAll(right.Name, " ", "-")
			all = append(all, found(id, Error, "Give the credentials that right. docs/use/operations.md lists all.",
				"The credentials cannot %s in the bucket: %s.", right.Name, short(right.Err))...)
		}
	}
	if t.Left != "" {
		all = append(all, found("bucket.left", Hint, "Remove it by hand.", "The object %s of this check is still in the bucket.", t.Left)...)
	}
	if t.Versions {
		all = append(all, found("bucket.versions", Warning, "Turn versioning off, or let a lifecycle rule remove old versions.",
			"The bucket keeps versions: deleted files stay in it.")...)
	}
	all = append(all, r.room("spool", r.spool())...)
	if len(all) == 0 {
		return fine("bucket", "The credentials can write, read, list, delete and upload in parts.")
	}
	return all
}

// kms: the command wraps and unwraps, and knows the key of this installation.
func (r *run) kms(ctx context.Context) []Finding {
	var ours []byte
	if _, err := r.examined(); err == nil && r.Wrapped != nil {
		ours, _ = r.Wrapped(ctx) // the check migrations tells why it is not read
	}
	if len(r.KMS) == 0 {
		if ours != nil {
			return found("kms.missing", Error, "Set CONSIGN_KMS_COMMAND again.",
				"Keys of files are wrapped by a command, and none is set: the server does not start.")
		}
		return nil
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails
	wrapped, err := r.KMS.Wrap(ctx, key)
	if err != nil {
		return found("kms.wrap", Error, "Run it by hand, as the user of the server.", "CONSIGN_KMS_COMMAND does not wrap: %s.", short(err))
	}
	back, err := r.KMS.Unwrap(ctx, wrapped)
	switch {
	case err != nil:
		return found("kms.unwrap", Error, "Run it by hand, as the user of the server.", "CONSIGN_KMS_COMMAND does not unwrap: %s.", short(err))
	case !bytes.Equal(back, key):
		return found("kms.unwrap", Error, "Correct the command: unwrap must return what wrap got.",
			"CONSIGN_KMS_COMMAND returns another key than it got.")
	}
	if ours != nil {
		if _, err := r.KMS.Unwrap(ctx, ours); err != nil {
			return found("kms.key", Error, "Give the command the key that it had when this installation began.",
				"CONSIGN_KMS_COMMAND does not unwrap the key of this installation: %s.", short(err))
		}
	}
	return fine("kms", "CONSIGN_KMS_COMMAND wraps and unwraps.")
}

// redis: rate limits are shared.
func (r *run) redis(ctx context.Context) []Finding {
	if r.RedisURL == "" {
		return nil
	}
	took, err := redis.Try(ctx, r.RedisURL)
	switch {
	case err != nil:
		return found("redis.unreachable", Error, "Start Redis, and compare CONSIGN_REDIS_URL. Meanwhile each replica counts alone.",
			"Redis does not answer: %s.", short(err))
	case took > slowRedis:
		return found("redis.latency", Warning, "Bring server and Redis closer together: most requests ask it.", "Redis takes %s for an answer.",
			inWords(took))
	}
	return fine("redis", "Redis answers within %s.", inWords(took))
}

// smtp: the mail server accepts login and sender.
func (r *run) smtp(ctx context.Context) []Finding {
	if r.SMTP == nil {
		return found("smtp.none", Warning, "Set CONSIGN_SMTP_URL before others use this server.",
			"No mail server is set: mails are files, and nobody gets them.")
	}
	err := r.SMTP.Try(ctx, r.MailFrom)
	switch {
	case errors.Is(err, mail.ErrLogin):
		return found("smtp.login", Error, "Correct user and password in CONSIGN_SMTP_URL; percent-encode special characters.",
			"The mail server refuses the login: %s.", short(err))
	case errors.Is(err, mail.ErrSender):
		return found("smtp.sender", Error, "Set CONSIGN_MAIL_FROM to an address that this login may use.",
			"The mail server refuses mails of %s: %s.", r.MailFrom, short(err))
	case errors.Is(err, mail.ErrTLS):
		return found("smtp.tls", Error, "Give the mail server a valid certificate and STARTTLS, or choose smtps:// or ?tls= in CONSIGN_SMTP_URL.",
			"TLS with the mail server fails: %s.", short(err))
	case errors.Is(err, mail.ErrBusy):
		return found("smtp.busy", Warning,
			"Ask who runs it: it is overloaded, or refuses this machine's address for now. Mails wait and are tried again.",
			"The mail server answers, and takes no mails now: %s.", short(err))
	case err != nil:
		return found("smtp.unreachable", Error, "Compare host and port of CONSIGN_SMTP_URL, and the firewall: many networks close port 25.",
			"The mail server is not reached: %s.", short(err))
	}
	return fine("smtp", "The mail server accepts the login and mails of %s.", r.MailFrom)
}

// mails: they leave.
func (r *run) mails(ctx context.Context) []Finding {
	if _, err := r.examined(); err != nil || r.Mails == nil {
		return skipped("mails")
	}
	const advice = "See the answers of the mail server in consign mail list. Then send them again: consign mail retry --since 24h."
	w, err := r.Mails(ctx)
	switch {
	case err != nil:
		return found("mails.unknown", Hint, "See the checks database and migrations.", "What became of mails is not known: %s.", short(err))
	case w.Health() == mail.None:
		return found("mails.refused", Error, advice, "The last %d mails were refused; %d wait, %d were given up within a day.", w.Since, w.Queued,
			w.Failed)
	case w.Health() == mail.Partly:
		return found("mails.partly", Warning, advice, "Within a day %d mails were sent and %d given up; %d wait, the first due for %s.", w.Sent,
			w.Failed, w.Queued, inWords(w.OldestDue))
	}
	return fine("mails", "Mails leave: %d were sent within a day, %d given up, %d wait.", w.Sent, w.Failed, w.Queued)
}

// mailDNS: whether receivers can see that mails are genuine. Only a receiver sees DKIM, because its selector is in the mail.
func (r *run) mailDNS(ctx context.Context) []Finding {
	_, domain, _ := strings.Cut(r.MailFrom, "@")
	if r.SMTP == nil || domain == "" || domain == "localhost" || net.ParseIP(domain) != nil {
		return nil
	}
	const advice = "Without them, many receivers put mails into the spam folder. Make the record your mail provider names. See DKIM in a " +
		"received mail: consign mail test ADDRESS, then look for dkim=pass."
	spf, errSPF := r.record(ctx, domain, "v=spf1")
	dmarc, errDMARC := r.record(ctx, "_dmarc."+domain, "v=DMARC1")
	_, errMX := r.Resolver.LookupMX(ctx, domain)
	var all []Finding
	if errSPF != nil || errDMARC != nil {
		return found("mail-dns.unknown", Hint, "Ask another machine: dig TXT "+domain+", dig TXT _dmarc."+domain+".",
			"The DNS records of %s could not be looked up: %s.", domain, short(errors.Join(errSPF, errDMARC)))
	}
	if !spf {
		all = append(all, found("mail-dns.spf", Hint, advice, "%s has no SPF record.", domain)...)
	}
	if !dmarc {
		all = append(all, found("mail-dns.dmarc", Hint, advice, "%s has no DMARC record.", domain)...)
	}
	if absent(errMX) {
		all = append(all, found("mail-dns.mx", Hint, "Let the domain of CONSIGN_MAIL_FROM accept mails, or choose another.",
			"%s accepts no mails (no MX record): some receivers refuse its senders, and bounces are lost.", domain)...)
	}
	if len(all) == 0 {
		return fine("mail-dns", "%s has SPF and DMARC. DKIM shows in a received mail only (consign mail test).", domain)
	}
	return all
}

// record reports whether a name has a TXT record that begins with prefix.
func (r *run) record(ctx context.Context, name, prefix string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	texts, err := r.Resolver.LookupTXT(ctx, name)
	if absent(err) {
		err = nil
	}
	for _, t := range texts {
		if strings.HasPrefix(t, prefix) {
			return true, nil
		}
	}
	return false, err
}

// absent reports whether the DNS says that there is no such record.
func absent(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// scanner: it answers and reports its limits.
func (r *run) scanner(ctx context.Context) []Finding {
	if r.Scanner == nil {
		return found("scanner.none", Hint, "Set CONSIGN_SCANNER_URL if strangers send files to you.",
			"No malware scanner is set: files are not inspected.")
	}
	version, err := r.Scanner.Version(ctx)
	if err != nil {
		return found("scanner.unreachable", Error, "Start the scanner, and compare CONSIGN_SCANNER_URL. Files wait for it meanwhile.",
			"The malware scanner does not answer: %s.", short(err))
	}
	warnings, err := r.Scanner.Warnings(ctx)
	if err != nil {
		return found("scanner.refuses", Error, "See the scanner's log, its memory and the space of its temporary files. Files wait meanwhile.",
			"The malware scanner answers, and does not judge a file: %s.", short(err))
	}
	var all []Finding
	for _, w := range warnings {
		all = append(all, found("scanner.limits", Warning, "See the malware scanner in docs/use/operations.md.", "The malware scanner: %s", w)...)
	}
	if len(all) == 0 {
		return fine("scanner", "The malware scanner %s answers.", version.Engine)
	}
	return all
}

// audit: the receiver of the audit takes entries, and has all but the newest.
func (r *run) audit(ctx context.Context) []Finding {
	if r.Audit == nil {
		return nil
	}
	if err := r.Audit.Try(ctx); err != nil {
		return found("audit.refused", Error,
			"Compare CONSIGN_AUDIT_STREAM with the receiver: address, certificate, rights. Entries wait until then.",
			"The receiver of the audit takes nothing: %s.", short(err))
	}
	if _, err := r.examined(); err != nil || r.Database == nil {
		return skipped("audit")
	}
	s, err := r.Audit.State(ctx)
	switch {
	case err != nil:
		return skipped("audit")
	case s.Late():
		return found("audit.late", Error, "See the log of the server that sends; every server tries, one at a time.",
			"%d audit entries are not sent, the oldest for %s. The last try: %s.", s.Waiting, inWords(s.Oldest), cmp.Or(s.Trouble, "none was made"))
	}
	return fine("audit", "The receiver of the audit takes entries; %d wait, and %d were sent.", s.Waiting, s.Sent)
}

// log: witnesses and the time stamp service attest it.
func (r *run) log(ctx context.Context) []Finding {
	if r.Attesters == nil {
		return nil
	}
	attesters, err := r.Attesters(ctx)
	if err != nil {
		return skipped("log")
	}
	var all []Finding
	for _, a := range attesters {
		id, setting := "log.stamps", "CONSIGN_TSA_URL"
		if a.Witness {
			id, setting = "log.witness", "CONSIGN_LOG_WITNESSES"
		}
		switch {
		case a.Trouble != nil:
			all = append(all, found(id, Error, "Compare "+setting+" with what its operator says: address, key, whether it knows this log. Receipts "+
				"are signed meanwhile, without its statement.", "The log of receipts is not attested by the %s: %s.", a.Name, short(a.Trouble))...)
		case a.Late():
			all = append(all, found("log.late", Warning, "See the log of the server that signs receipts: it asks every ten seconds.",
				"The %s answers, and a checkpoint of the log of receipts waits for it for %s.", a.Name, inWords(a.Waiting))...)
		}
	}
	if len(all) == 0 && len(attesters) > 0 {
		return fine("log", "All of %d witnesses and time stamp services attest the log of receipts.", len(attesters))
	}
	return all
}
