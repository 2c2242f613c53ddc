-- Takes or returns one token of each bucket in KEYS, all or none, with the arithmetic of Limit.Take and Limit.Return.
-- ARGV: 1 to take tokens or -1 to return them; the time in microseconds, or 0 for the server's clock; the maximum lifetime of
-- a bucket in milliseconds; then for each key its capacity and its drain rate in tokens per second.
-- Returns the number of the first key without room, or 0, and the level before of that key, or of the last one, as text that
-- keeps every bit.
local change, now, forget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local levels, before = {}, '0'
for i, key in ipairs(KEYS) do
  local capacity, rate = tonumber(ARGV[2 * i + 2]), tonumber(ARGV[2 * i + 3])
  local level = 0
  local stored = redis.call('GET', key)
  if stored then
    local tokens, at = string.match(stored, '^(%S+) (%S+)$')
    level = tonumber(tokens)
    local elapsed = now - tonumber(at)
    if elapsed > 0 then
      level = math.max(0, level - elapsed / 1000000 * rate)
    end
  end
  before = string.format('%.17g', level)
  if change > 0 and capacity - level + 1e-9 < 1 then
    return {i, before}
  end
  levels[i] = math.max(0, level + change)
end
for i, key in ipairs(KEYS) do
  local level, rate = levels[i], tonumber(ARGV[2 * i + 3])
  if level == 0 then
    redis.call('DEL', key)
  else
    local drained = forget
    if rate > 0 then
      drained = math.min(forget, math.ceil(level / rate * 1000) + 1000)
    end
    redis.call('SET', key, string.format('%.17g %.0f', level, now), 'PX', string.format('%.0f', drained))
  end
end
return {0, before}
