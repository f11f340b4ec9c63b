"""The trainer's writes to Redis as Lua scripts: each checks the lease and acts in one step.

A script answers NOLEASE if there is no lease because Redis was emptied, and NOTTRAINER with the
holder's host if another process has it. An expired lease that no one else took still belongs to its
holder. Scripts that free memory or keep the run alive also run in a full Redis.
"""

_CHECKED = """
local holder = redis.call('HMGET', KEYS[1], 'token', 'host')
if not holder[1] then return redis.error_reply('NOLEASE') end
if holder[1] ~= ARGV[1] then return redis.error_reply('NOTTRAINER ' .. holder[2]) end
"""
_NOW = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
"""
_IN_FULL_REDIS = "#!lua flags=allow-oom\n"
_REFUSED_WHEN_FULL = "#!lua\n"
_NAMES_DELIVERY = """
local function names_delivery(fields)
  return fields[1] == 'incarnation' and fields[3] == 'number'
         and string.find(fields[2], '^%d+$') and #fields[2] <= 20
         and string.find(fields[4], '^%d+$') and #fields[4] <= 15
end
"""
_FORGET_EMPTY = """
local function forget_empty(worker, stream)
  if redis.call('XLEN', stream) == 0 then
    redis.call('DEL', stream)
    redis.call('SREM', KEYS[2], worker)
  end
end
"""

# KEYS trainer, ended, senders, recent, kept, ratings, all others of one run. ARGV token, host,
# timeout in ms, smallest epoch, whether this trainer has led before: then another's lease is
# respected even if it has expired; id of the run; prefixes of streams, versions, blocks, leases,
# results, returns.
# What an earlier run of the same name, with another id, has left is deleted.
# Answers {epoch}, or {0, host of the holder, ms until its lease expires}.
LEAD = (
    _IN_FULL_REDIS
    + _NOW
    + """
local holder = redis.call('HMGET', KEYS[1], 'token', 'until', 'host', 'epoch', 'run')
local is_free = ARGV[5] == '0' and tonumber(holder[2] or 0) <= now
if holder[1] and holder[1] ~= ARGV[1] and not is_free then
  return {0, holder[3], tonumber(holder[2]) - now}
end
local epoch = tonumber(holder[4] or 0)
if holder[1] ~= ARGV[1] then
  epoch = math.max(epoch + 1, tonumber(ARGV[4]))
  redis.call('DEL', KEYS[2])
end
if holder[5] and holder[5] ~= ARGV[6] then
  for _, worker in ipairs(redis.call('SMEMBERS', KEYS[3])) do
    redis.call('DEL', ARGV[7] .. worker)
  end
  for _, version in ipairs(redis.call('LRANGE', KEYS[4], 0, -1)) do
    redis.call('DEL', ARGV[8] .. version)
  end
  for _, version in ipairs(redis.call('SMEMBERS', KEYS[5])) do
    redis.call('DEL', ARGV[8] .. version)
  end
  for _, rating in ipairs(redis.call('ZRANGE', KEYS[6], 0, -1)) do
    for _, number in ipairs(redis.call('HKEYS', ARGV[9] .. rating)) do
      redis.call('DEL', ARGV[10] .. rating .. ':' .. number)
    end
    redis.call('DEL', ARGV[9] .. rating, ARGV[11] .. rating, ARGV[12] .. rating)
  end
  redis.call('DEL', unpack(KEYS, 3))
end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'host', ARGV[2], 'epoch', epoch,
           'until', now + ARGV[3], 'run', ARGV[6])
return {epoch}
"""
)

# KEYS trainer, pace, announce. ARGV token, timeout in ms, pace as JSON without its end, whether it
# is announced. Answers how many heard it.
KEEP = (
    _IN_FULL_REDIS
    + _CHECKED
    + _NOW
    + """
redis.call('HSET', KEYS[1], 'until', now + ARGV[2])
if ARGV[3] ~= '' then
  local pace = ARGV[3] .. ', "at_ms": ' .. string.format('%.0f', now) .. '}'
  redis.call('SET', KEYS[2], pace)
  if ARGV[4] == '1' then return redis.call('PUBLISH', KEYS[3], 'pace ' .. pace) end
end
return 0
"""
)

# KEYS trainer. ARGV token.
RESIGN = (
    _IN_FULL_REDIS
    + """
if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then redis.call('HSET', KEYS[1], 'until', 0) end
"""
)

# KEYS trainer, announce, the string or hash. ARGV token, news, then a value, or fields and values.
PUBLISH = (
    _REFUSED_WHEN_FULL
    + _CHECKED
    + """
if #ARGV == 3 then
  redis.call('SET', KEYS[3], ARGV[3])
else
  redis.call('HSET', KEYS[3], unpack(ARGV, 3))
end
redis.call('PUBLISH', KEYS[2], ARGV[2])
"""
)

# KEYS trainer, announce, ended. ARGV token.
END = (
    _IN_FULL_REDIS
    + _CHECKED
    + """
redis.call('SET', KEYS[3], '1')
redis.call('PUBLISH', KEYS[2], 'ended')
"""
)

# KEYS trainer, senders. ARGV token, prefix of streams, max bytes, max entries, max episode bytes,
# which worker first, whether all is delivered again, id of the run or nothing for any. Answers
# {number of entries that are malformed or of another run, then per worker {worker, id, incarnation,
# number, episode, run, id, …}}. Of an episode that is too long comes one byte more than is allowed,
# so that it is refused.
RECEIVE = (
    _IN_FULL_REDIS
    + _CHECKED
    + _NAMES_DELIVERY
    + _FORGET_EMPTY
    + """
local AT_ONCE = 16
local left_bytes, left_entries, longest = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local workers = redis.call('SMEMBERS', KEYS[2])
table.sort(workers)
local answer, malformed = {0}, 0

local function read(stream, count)
  return redis.pcall('XREADGROUP', 'GROUP', 'trainer', 'trainer', 'COUNT', count,
                     'STREAMS', stream, '>')
end

if ARGV[7] == '1' then
  for _, worker in ipairs(workers) do
    redis.pcall('XGROUP', 'SETID', ARGV[2] .. worker, 'trainer', '0')
  end
end
for step = 0, #workers - 1 do
  local worker = workers[(step + ARGV[6]) % #workers + 1]
  local stream = ARGV[2] .. worker
  if redis.call('EXISTS', stream) == 0 or not string.find(worker, '^%w[%w._-]*$') then
    redis.call('SREM', KEYS[2], worker)
  elseif left_bytes > 0 and left_entries > 0 then
    local share = math.ceil(left_entries / (#workers - step))
    local taken, bad = {worker}, {}
    while share > 0 and left_bytes > 0 do
      local found = read(stream, math.min(share, AT_ONCE))
      if found and found.err then
        redis.call('XGROUP', 'CREATE', stream, 'trainer', '0')
        found = read(stream, math.min(share, AT_ONCE))
      end
      if not found then break end
      for _, entry in ipairs(found[1][2]) do
        local id, fields = entry[1], entry[2]
        share = share - 1
        left_entries = left_entries - 1
        if #fields == 8 and names_delivery(fields) and fields[5] == 'episode'
           and fields[7] == 'run' and (ARGV[8] == '' or fields[8] == ARGV[8]) then
          local episode = string.sub(fields[6], 1, longest + 1)
          left_bytes = left_bytes - #episode
          taken[#taken + 1] = id
          taken[#taken + 1] = fields[2]
          taken[#taken + 1] = fields[4]
          taken[#taken + 1] = episode
          taken[#taken + 1] = fields[8]
        else
          bad[#bad + 1] = id
        end
      end
    end
    for _, id in ipairs(bad) do
      redis.call('XACK', stream, 'trainer', id)
      redis.call('XDEL', stream, id)
    end
    malformed = malformed + #bad
    forget_empty(worker, stream)
    if #taken > 1 then answer[#answer + 1] = taken end
  end
end
answer[1] = malformed
return answer
"""
)

# KEYS trainer, senders. ARGV token, prefix of streams, then per worker: worker, number of ids, ids.
# Only what is acknowledged is deleted, never by length or age.
ACKNOWLEDGE = (
    _IN_FULL_REDIS
    + _CHECKED
    + _FORGET_EMPTY
    + """
local at = 3
while at <= #ARGV do
  local worker, count = ARGV[at], tonumber(ARGV[at + 1])
  local stream = ARGV[2] .. worker
  redis.call('XACK', stream, 'trainer', unpack(ARGV, at + 2, at + 1 + count))
  redis.call('XDEL', stream, unpack(ARGV, at + 2, at + 1 + count))
  forget_empty(worker, stream)
  at = at + 2 + count
end
"""
)

# KEYS trainer. ARGV token, then hash, incarnation and number of each mark.
SET_MARKS = (
    _IN_FULL_REDIS
    + _CHECKED
    + """
for at = 2, #ARGV, 3 do
  local before = tonumber(redis.call('HGET', ARGV[at], ARGV[at + 1]) or 0)
  if tonumber(ARGV[at + 2]) > before then
    redis.call('HSET', ARGV[at], ARGV[at + 1], ARGV[at + 2])
  end
end
"""
)

# KEYS the stream, senders, marks of the worker, cleared. ARGV worker, how many. An operator's: it
# needs no lease. A mark rises past what is cleared, but over no gap. Answers how many were cleared.
CLEAR = (
    _IN_FULL_REDIS
    + _NAMES_DELIVERY
    + _FORGET_EMPTY
    + """
local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[2])
local marks = {}
for _, entry in ipairs(entries) do
  redis.call('XACK', KEYS[1], 'trainer', entry[1])
  redis.call('XDEL', KEYS[1], entry[1])
  if names_delivery(entry[2]) then
    local incarnation, number = entry[2][2], tonumber(entry[2][4])
    redis.call('RPUSH', KEYS[4], ARGV[1] .. ' ' .. incarnation .. ' ' .. entry[2][4])
    local mark = marks[incarnation] or tonumber(redis.call('HGET', KEYS[3], incarnation) or 0)
    if number == mark then mark = number + 1 end
    marks[incarnation] = mark
  end
end
for incarnation, mark in pairs(marks) do
  redis.call('HSET', KEYS[3], incarnation, string.format('%.0f', mark))
end
forget_empty(ARGV[1], KEYS[1])
return #entries
"""
)

# KEYS trainer, the list. ARGV token, how many of the first to drop, how many to answer.
TAKE = (
    _IN_FULL_REDIS
    + _CHECKED
    + """
redis.call('LTRIM', KEYS[2], ARGV[2], -1)
return redis.call('LRANGE', KEYS[2], 0, ARGV[3] - 1)
"""
)

# KEYS trainer, announce, weights, recent, kept. ARGV token, prefix of versions, smallest version,
# step, sha256, data, how many to keep. Answers the version.
PUBLISH_WEIGHTS = (
    _REFUSED_WHEN_FULL
    + _CHECKED
    + _NOW
    + """
local before = redis.call('HGET', KEYS[3], 'version')
local version = tonumber(ARGV[3])
if before then version = math.max(version, before + 1) end
local name = string.format('%.0f', version)
redis.call('HSET', ARGV[2] .. name, 'step', ARGV[4], 'sha256', ARGV[5], 'data', ARGV[6])
redis.call('HSET', KEYS[3], 'version', name, 'step', ARGV[4], 'sha256', ARGV[5], 'size', #ARGV[6],
           'at_ms', string.format('%.0f', now))
redis.call('LPUSH', KEYS[4], name)
while redis.call('LLEN', KEYS[4]) > tonumber(ARGV[7]) do
  local old = redis.call('RPOP', KEYS[4])
  if redis.call('SISMEMBER', KEYS[5], old) == 0 then redis.call('DEL', ARGV[2] .. old) end
end
redis.call('PUBLISH', KEYS[2], 'weights ' .. name)
return name
"""
)

# KEYS trainer, recent, kept. ARGV token, prefix of versions, then version, step, sha256 and data
# of each; no data where Redis has it already.
KEEP_WEIGHTS = (
    _REFUSED_WHEN_FULL
    + _CHECKED
    + """
local wanted, recent = {}, {}
for at = 3, #ARGV, 4 do wanted[ARGV[at]] = true end
for _, version in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do recent[version] = true end
for _, version in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  if not wanted[version] and not recent[version] then redis.call('DEL', ARGV[2] .. version) end
end
redis.call('DEL', KEYS[3])
for at = 3, #ARGV, 4 do
  redis.call('SADD', KEYS[3], ARGV[at])
  if ARGV[at + 3] ~= '' then
    redis.call('HSET', ARGV[2] .. ARGV[at], 'step', ARGV[at + 1], 'sha256', ARGV[at + 2],
               'data', ARGV[at + 3])
  end
end
"""
)

# KEYS trainer, ratings. ARGV token, then hash, match, number and task of each block.
ADD_BLOCKS = (
    _REFUSED_WHEN_FULL
    + _CHECKED
    + _NOW
    + """
for at = 2, #ARGV, 4 do
  redis.call('ZADD', KEYS[2], 'NX', now * 1000 + at, ARGV[at + 1])
  redis.call('HSETNX', ARGV[at], ARGV[at + 2], ARGV[at + 3])
end
"""
)

# KEYS trainer, ratings, all keys of the match. ARGV token, match.
DROP_BLOCKS = (
    _IN_FULL_REDIS
    + _CHECKED
    + """
redis.call('ZREM', KEYS[2], ARGV[2])
for at = 3, #KEYS do redis.call('DEL', KEYS[at]) end
"""
)
