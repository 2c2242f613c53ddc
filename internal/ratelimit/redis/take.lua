-- Takes or returns one token of the bucket KEYS[1], atomically, with the arithmetic of Limit.Take and Limit.Return.
-- ARGV: capacity; drain rate in tokens per second; 1 to take a token or -1 to return one; the time in microseconds, or 0 for
-- the server's clock; the maximum lifetime of a bucket in milliseconds.
-- Returns 1 if the token was taken or returned, else 0, and the level before as text that keeps every bit.
local capacity, rate, change, now, forget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local level = 0
local stored = redis.call('GET', KEYS[1])
if stored then
  local tokens, at = string.match(stored, '^(%S+) (%S+)$')
  level = tonumber(tokens)
  local elapsed = now - tonumber(at)
  if elapsed > 0 then
    level = math.max(0, level - elapsed / 1000000 * rate)
  end
end
local before = string.format('%.17g', level)
if change > 0 and capacity - level + 1e-9 < 1 then
  return {0, before}
end
level = math.max(0, level + change)
if level == 0 then
  redis.call('DEL', KEYS[1])
else
  local drained = forget
  if rate > 0 then
    drained = math.min(forget, math.ceil(level / rate * 1000) + 1000)
  end
  redis.call('SET', KEYS[1], string.format('%.17g %.0f', level, now), 'PX', string.format('%.0f', drained))
end
return {1, before}
