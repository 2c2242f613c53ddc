// Package redis tests rate limits that servers share through Redis. Run it with make test-redis.
package redis
