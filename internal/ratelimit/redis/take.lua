-- One drop for the bucket KEYS[1]: the same arithmetic as Limit.Take and Limit.Return, in one step that nobody comes between.
-- ARGV: capacity, drops drained a second, drops added (1) or taken back (-1), now in microseconds or 0 for the server's clock,
-- milliseconds after which any bucket may be forgotten.
-- Answers whether it was admitted, and the level before it, whose text form keeps every bit.
local capacity, rate, drop, now, forget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local level = 0
local held = redis.call('GET', KEYS[1])
if held then
  local drops, at = string.match(held, '^(%S+) (%S+)$')
  level = tonumber(drops)
  local elapsed = now - tonumber(at)
  if elapsed > 0 then
    level = math.max(0, level - elapsed / 1000000 * rate)
  end
end
local before = string.format('%.17g', level)
if drop > 0 and capacity - level + 1e-9 < 1 then
  return {0, before}
end
level = math.max(0, level + drop)
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
