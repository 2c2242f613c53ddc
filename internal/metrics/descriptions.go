// The metrics of the sources: name, help and labels.

package metrics

import "github.com/prometheus/client_golang/prometheus"

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("consign_"+name, help, labels, nil)
}

// The metrics of the sources, in the order of docs/use/metrics.md.
var (
	bytesIn   = describe("http_request_bytes_total", "Bytes of request bodies read.")
	bytesOut  = describe("http_response_bytes_total", "Bytes of answers' bodies written.")
	uploads   = describe("uploads_in_flight", "Uploads under way.")
	downloads = describe("downloads_in_flight", "Downloads of files and archives under way.")
	streams   = describe("event_streams_open", "Event streams open.")

	slowSearches = describe("slow_searches_total", "Searches of transfers given up after two seconds.")

	refusals       = describe("ratelimit_refusals_total", "Requests refused because a bucket was full, by kind of bucket.", "bucket")
	redisAway      = describe("ratelimit_redis_away", "1 while this replica keeps buckets of its own because Redis does not answer.")
	redisFailures  = describe("ratelimit_redis_failures_total", "How often this replica has fallen back from Redis to its memory.")
	redisFallbacks = describe("ratelimit_redis_fallbacks_total", "Tokens counted in this replica's memory instead of Redis.")

	storageFree  = describe("storage_free_bytes", "Free space of the volume on which uploads are written.")
	storageFloor = describe("storage_floor_bytes", "Free space below which uploads are refused.")

	memoryUsed = describe("memory_used_bytes",
		"Memory of this replica's control group (cgroup v2) without the cache of files. Absent without a limit.")
	memoryLimit = describe("memory_limit_bytes", "Limit of that. The kernel ends processes that need more.")

	storageUp      = describe("storage_up", "1 if the storage of files could be written and read when this replica last tried, each 15 s.")
	schemaNewer    = describe("schema_newer", "1 if a newer version has migrated the database: this replica is an old one.")
	certificateEnd = describe("certificate_end_timestamp_seconds",
		"End of the certificate at the public URL, as this replica sees it; 0: not known, or no TLS.")
	storageChecked = describe("storage_check_timestamp_seconds",
		"When the last complete check of all stored files of the installation ended; 0: none.")
	storageFindings = describe("storage_check_findings", "What the last complete check of all stored files has found.")
	backedUp        = describe("backup_timestamp_seconds", "When the last backup was recorded (consign backup record); 0: none was.")

	damagedFiles = describe("damaged_files", "Files of the installation whose stored bytes are lost or damaged, and not given out.")

	databaseUp           = describe("database_up", "1 if the database answered this scrape and can be written.")
	poolMax              = describe("database_pool_max_connections", "Connections the pool may have.")
	poolConnections      = describe("database_pool_connections", "Connections the pool has, by what they do.", "state")
	poolAcquires         = describe("database_pool_acquires_total", "Connections taken from the pool.")
	poolEmptyAcquires    = describe("database_pool_empty_acquires_total", "Times that all connections were taken.")
	poolCanceledAcquires = describe("database_pool_canceled_acquires_total", "Times that waiting for a connection was given up.")
	poolWait             = describe("database_pool_wait_seconds_total", "Time spent waiting for a connection while all were taken.")
	poolNew              = describe("database_pool_new_connections_total", "Connections made.")

	listenAge = describe("listen_confirmed_age_seconds",
		"Age of the last confirmed round trip on the connection that listens for notifications.")
	listenConfirmed = describe("listen_confirmed",
		"1 if that round trip is a second old at most; else each access token is checked in the database.")

	jobDepth    = describe("jobs", "Unfinished jobs of the installation by queue and state.", "queue", "state")
	jobOldest   = describe("job_oldest_due_seconds", "How long the job that has been due for longest has been waiting, by queue.", "queue")
	jobFailures = describe("job_failures_total", "Runs of jobs on this replica that failed; most are repeated.")

	logRefuses = describe("log_refuses", "1 while this replica refuses to sign the transparency log of receipts.")
	logPending = describe("log_pending_entries", "Entries of the installation that wait for their signature; 10000 stands for more.")

	logWaiting = describe("log_attestation_waiting_seconds",
		"How long the oldest checkpoint that a witness or the time stamp service has not attested waits for it; 0: none does.", "attester")

	auditWaiting = describe("audit_stream_waiting",
		"Audit entries of the installation that the receiver of the stream does not have yet; 10000 stands for more.")
	auditOldest = describe("audit_stream_oldest_seconds", "How long the oldest of these entries has waited.")

	mailAttempts = describe("mail_attempts_total",
		"Attempts of this replica to send a mail: sent, postponed after a temporary failure, failed for good.", "outcome")
	mailsWaiting = describe("mails_waiting", "Mails of the installation that are not sent yet.")
	mailsRefused = describe("mails_refused",
		"Mails of the installation whose last attempt failed, within a day and after the last mail that was sent.")
	mailsFailed     = describe("mails_failed", "Mails of the installation that were given up within a day.")
	webhookAttempts = describe("webhook_attempts_total",
		"Attempts of this replica to deliver to a webhook: delivered, failed and to be repeated, dead (given up).", "outcome")
	scanVerdicts = describe("scan_verdicts_total",
		"Verdicts of the malware scanner that this replica has got: clean, infected, partly; failed: none in time.", "verdict")
	scanBytes    = describe("scan_bytes_total", "Bytes of the files that this replica had inspected.")
	scanSeconds  = describe("scan_seconds_total", "Time that the inspections of this replica took.")
	scansWaiting = describe("scans_waiting", "Files of the installation that wait for an inspection, also for a repeated one.")
	scanOldest   = describe("scan_oldest_waiting_seconds",
		"How long the file has waited that has waited for its first verdict for longest.")
	webhooksWaiting = describe("webhook_deliveries_waiting",
		"Deliveries to webhooks of the installation that wait for their first or next attempt.")
	webhookOldest = describe("webhook_oldest_due_seconds", "How long the delivery that has been due for longest has been.")

	mailOldest = describe("mail_oldest_due_seconds", "How long the mail that has been due for longest has been.")
)
