package config

import "time"

// Values that no setting changes. They are here so that every default is in this package.
const (
	// HostsTTL is how long a replica caches which organization a hostname selects. A change invalidates the copy at once.
	HostsTTL = time.Minute

	// SafeBcryptCost is the cost below which the start warns (ASVS 2.4.4).
	SafeBcryptCost = 10

	// JobWorkers is how many jobs of the default queue run at once.
	JobWorkers = 8
	// JobPollInterval is how often the job queue is read without a notification.
	JobPollInterval = 5 * time.Second
	// JobPollOnlyInterval replaces JobPollInterval where a pooler does not forward notifications.
	JobPollOnlyInterval = time.Second
	// JobTimeout bounds one run of a job.
	JobTimeout = 2 * time.Minute
	// JobStopWithin is how long running jobs may continue after the stop signal.
	JobStopWithin = 10 * time.Second
)
