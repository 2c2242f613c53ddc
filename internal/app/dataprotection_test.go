package app_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// retained describes what tables hold. {SETTING} in kept becomes the setting with its default.
type retained struct{ tables, what, why, kept string }

var retention = []retained{
	{"identity.persons", "name, language, time zone, last sign-in, own upload limit", "the account",
		"the account's; then identifier and time of deletion for 30 days"},
	{"identity.addresses", "mail addresses, when they were confirmed, hash of the link that confirms", "sign-in, delivery",
		"the account's; an unconfirmed one {UNVERIFIED_EMAIL_LIFETIME}"},
	{"identity.authenticators, identity.recovery_codes", "password and recovery codes as hashes, TOTP keys sealed", "sign-in",
		"the account's, or until replaced"},
	{"identity.passkeys", "public keys of passkeys, their host, model, last use and whether they are backed up", "sign-in",
		"the account's, or until removed"},
	{"identity.used_challenges", "hashes of challenges that were answered", "each answer of a passkey once", "10 minutes"},
	{"identity.id_tokens, identity.parked_tokens, identity.pending_logins", "sessions: network address, browser, times",
		"sign-in; the person sees them and can end them", "{ID_TOKEN_LIFETIME} after the sign-in or its last renewal"},
	{"identity.known_clients", "hashes of browsers that have signed in", "mails about sign-ins from new devices", "365d without a sign-in"},
	{"identity.device_logins", "network address and program that asks for a sign-in by code", "the person compares them", "20 minutes"},
	{"identity.factor_tries", "number of wrong second factors by hash of the source", "slows guessing", "7 days"},
	{"identity.reset_keys", "hash of a link that resets the password", "password reset", "{RESET_KEY_LIFETIME}"},
	{"identity.security_changes, identity.security_change_factors", "former addresses and second factors", "a link in a mail undoes a change",
		"7d"},
	{"identity.organization_changes", "former settings and roles of an organization", "a link in a mail undoes a change", "7d"},
	{"identity.external_logins, identity.external_tokens", "sign-ins at a provider that are under way; fingerprints of used tokens",
		"federated sign-in, each token once", "10m, tokens until they expire"},
	{"transfer.thumbnails", "small pictures of files, sealed", "pages", "the file's"},
	{"identity.avatars, transfer.mailbox_pictures", "pictures of people, organizations and mailboxes", "pages and mails",
		"the account's, or until removed"},
	{"identity.operators", "who operates the installation, since when", "authorization", "until the role or the account ends"},
	{"identity.api_tokens", "name, scopes and hash of an API token; time and address of its last use", "access of programs",
		"until its expiry, at most 366 days, or its revocation"},
	{"webhook.webhooks", "address and sealed secret of a receiver; of an export target the user and sealed password",
		"messages to programs, copies of received transfers", "until deleted"},
	{"webhook.deliveries", "uids of an event and of its receivers, first bytes of the answer", "the log of a webhook; repeats",
		"the last 100 of each webhook that are delivered, and that are given up"},
	{"identity.organizations, identity.limits, identity.subscriptions, identity.hosts, identity.host_claims, transfer.adminunits",
		"name, postal address, telephone, links, colours, hostnames, plan", "the organization",
		"the organization's; of retention rules the least times for ever"},
	{"identity.memberships", "who belongs to which organization, with which roles", "authorization", "until the person leaves"},
	{"identity.invitations", "address and roles of an invited person", "invitation", "{INVITATION_LIFETIME}"},
	{"holds, hold_scope, hold_rows, hold_contents", "copies of deleted rows about a held person, mailbox or transfer; why it is held",
		"a legal case", "until the hold ends"},
	{"transfer.mailboxes, transfer.mailbox_suspensions, transfer.vanity_links, transfer.mailbox_groups, transfer.mailbox_group_members",
		"name, slogan, absence, questions and links of a mailbox", "drop pages",
		"the account's or the organization's; a released link stays reserved 90d"},
	{"transfer.reservations, transfer.reservation_recipients, transfer.sender_codes, transfer.stranger_reservations, transfer.segment_charges",
		"an upload under way: names, addresses, subject, message, answers, list of files, client network", "upload",
		"48h, or until it is delivered"},
	{"transfer.requests, transfer.request_items, transfer.request_parties, transfer.party_items",
		"what a person asks others for: texts, questions; names, addresses and languages of who is asked; when they opened the link, handed in",
		"requests, reminders", "the request's, which its owner deletes, or the account's"},
	{"transfer.heartbeats", "times at which the service answered; no personal data", "evidence of deadlines", "{TRANSFER_RETENTION}"},
	{"transfer.transfers, transfer.deliveries, transfer.objects, transfer.segments, transfer.search_texts, transfer.shared_contents",
		"a delivered transfer: sender, recipients, subject, message, answers, names and hashes of files", "delivery",
		"until it ends: at its revocation, or at its expiry after {AVAILABLE_TTL} days as the sender chooses, later if it is extended or " +
			"pinned; then identifiers, times, sizes and addresses {TRANSFER_RETENTION}"},
	{"transfer.sealed_segments", "sealed keys of encrypted files", "encryption",
		"until the file is erased; that erases it, in backups of files too"},
	{"transfer.inspections", "verdict of the malware scanner about a file, name of the finding", "protection of recipients", "with the file"},
	{"transfer.downloads, transfer.one_time_keys", "which recipient has downloaded what and when, from which network addresses",
		"limits of downloads, the sender's activity", "with the transfer; network addresses at most {AUDIT_RETENTION}"},
	{"transfer.discarded_objects, transfer.erasing", "identifiers of files that are to be erased", "erasure", "until they are erased"},
	{"transfer.receipts, transfer.receipt_parts", "receipt of a delivery: sender, recipients, subject, names and hashes of files", "proof",
		"until it or a person that it names is erased, or the organization's rule; " +
			"readers of the certificate of erasure, by uids, until their accounts are deleted"},
	{"transfer.person_erasures, transfer.held_erasures", "uid of a deleted account, counts",
		"certificate of erasure", "always"},
	{"log.logs, log.entries, log.pending, log.tiles, log.checkpoints, log.keys", "hashes of receipts, signed",
		"proof that the log was not changed", "always; hashes say nothing about people"},
	{"transfer.volumes, transfer.stored_volumes, transfer.volume_advances", "bytes of a person or organization in a month", "limits, reports",
		"400 days; of an organization's storage the organization's"},
	{"transfer.volume_samples", "bytes that an organization stored and uploaded, by day", "charts for its administrators", "92 days"},
	{"transfer.daily_recipients, transfer.daily_mailbox_mails, transfer.daily_sender_codes, transfer.upload_confirmations",
		"counters of mails and recipients by day", "limits against abuse", "until the next day"},
	{"events, event_feeds", "that something happened to a transfer, mailbox or profile of a person, without content",
		"pages and programs that wait", "{EVENT_RETENTION}"},
	{"idempotency_keys", "hashes of a caller (of strangers: the client network), a key and a request; the sealed answer",
		"the same answer to a request that is repeated", "24 hours"},
	{"mails", "recipient and content of a mail; links sealed until it is sent", "sending, and answers to people who miss a mail",
		"30 days after it was sent or given up"},
	{"audit", "who did what, when, from which network address and browser", "security, disputes", "{AUDIT_RETENTION}, by whole months"},
	{"audit_stream, audit_pending, audit_outbox", "entries of the audit on their way to a receiver, whose copies are its own",
		"security", "until the receiver has them; identifiers at most {AUDIT_RETENTION}"},
	{"revocations, signing_keys", "ended sessions; keys that sign tokens", "sign-in", "until the tokens have expired"},
	{"river_job, river_leader, river_notification, river_queue", "jobs, by uids", "background work", "a week at most"},
	{"transfer.storage_checks, transfer.damaged_contents",
		"checks of stored files: counts, identifiers of files that are lost or damaged", "operation",
		"400 days; damage: until the file is in order or erased"},
	{"samples", "how many requests, transfers, people and bytes there were; no data about people", "charts of the console", "31 days"},
	{"settings, migrations, river_migration", "no data about people", "operation", "always"},
}

var placeholder = regexp.MustCompile(`\{([A-Z_]+)\}`)

// TestDataProtection checks that the table of docs/use/data-protection.md has each table of the database, and the settings' defaults.
// go test ./internal/app -run DataProtection -update writes it.
func TestDataProtection(t *testing.T) {
	t.Parallel()
	defaults := map[string]string{}
	for _, s := range config.Reference() {
		defaults[s.Name] = s.Default
	}
	missing := tables(t)
	block := "| what | why | how long | tables |\n|---|---|---|---|\n"
	for _, r := range retention {
		for table := range strings.SplitSeq(r.tables, ", ") {
			if !slices.Contains(missing, table) {
				t.Errorf("there is no table %s, or it has two rows", table)
			}
			missing = slices.DeleteFunc(missing, func(s string) bool { return s == table })
		}
		kept := placeholder.ReplaceAllStringFunc(r.kept, func(name string) string {
			name = config.Prefix + strings.Trim(name, "{}")
			if defaults[name] == "" {
				t.Errorf("%s is no setting with a default", name)
			}
			return fmt.Sprintf("%s (`%s`)", defaults[name], name)
		})
		block += fmt.Sprintf("| %s | %s | %s | `%s` |\n", r.what, r.why, kept, strings.ReplaceAll(r.tables, ", ", "`, `"))
	}
	if len(missing) > 0 {
		t.Errorf("say in the list retention what these tables hold, why and how long: %s", strings.Join(missing, ", "))
	}
	const file, begin, end = "../../docs/use/data-protection.md", "-update -->\n", "<!-- /retention -->"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(raw), begin)
	got, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no block of retention", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+begin+block+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != block {
		t.Error("docs/use/data-protection.md is not current: run go test ./internal/app -run DataProtection -update")
	}
}

// tables returns the tables of the database without partitions.
func tables(t *testing.T) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), `
		SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema')`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}
