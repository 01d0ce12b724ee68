import { createHash } from 'node:crypto'
import { SCHEMA } from '../migrations/index.js'

/**
 * Keys in Redis, all with the prefix `edged:`
 *
 *     meta        hash: schema, epoch (drawn when the data was new), version (of the last batch); during a migration
 *                 also migrating (the schema before) and moving (1 after all new records are prepared);
 *                 accepted (an epoch whose lack of records was accepted)
 *     r["zone",..]  hash per record: v (version), j (JSON)
 *     changes     stream, an entry per batch with the batch's version as its id; cut at about CHANGES_KEPT,
 *                 and earlier if batches are large
 *     audit       stream of audit entries
 *     migration   name of the machine that migrates the data, for a short time
 *     lost-records  held by the machine that writes its records into a Redis that lost them, for a short time
 *     new:r[..]   hash per record that a migration has prepared, as r[..]; d (1) if it removes the record
 */
export const META = 'edged:meta'
export const CHANGES = 'edged:changes'
export const AUDIT = 'edged:audit'
const ROWS = 'edged:r'

export const MIGRATION = 'edged:migration'
export const REFILL = 'edged:lost-records'
const PREPARED = 'edged:new:r'

/** Value of `schema` while a backup is written. */
export const RESTORING = 'restoring'
export const rowKey = (name: string): string => ROWS + name
export const rowName = (key: string): string => key.slice(ROWS.length)
export const ROW_PATTERN = `${ROWS}*`
export const preparedKey = (name: string): string => PREPARED + name
export const preparedName = (key: string): string => key.slice(PREPARED.length)
export const PREPARED_PATTERN = `${PREPARED}*`

/** Maximum number of entries in the change stream. A follower that is further behind reloads all records. */
export const CHANGES_KEPT = 4096

/**
 * Compares the versions of a whole batch, then writes the batch, its audit entries and its entry in the change stream.
 *
 *     KEYS  meta, changes, audit, then the key of each record
 *     ARGV  epoch, changes retained, audit entries retained, number of records,
 *           then for each record the version it must have ('' for any) and its JSON ('' to remove it),
 *           then each audit entry
 *
 * Streams are cut by a separate command and to a fixed length. An XADD that also cuts is written to the append-only
 * file as one that cuts to the length at that time.
 *
 * Returns {'done', version}, {'conflict', version of the last batch, position of the record, version found}, or
 * {'epoch'} if the data is not the data that the caller knows. The change entry is a JSON array with [name, value] for
 * each written record and [name] for each removed one.
 */
const COMMIT_LUA = `
local function cut(stream, kept)
  if redis.call('XLEN', stream) > kept + 128 then redis.call('XTRIM', stream, 'MAXLEN', kept) end
end

local meta, changes, audit = KEYS[1], KEYS[2], KEYS[3]
if redis.call('HGET', meta, 'epoch') ~= ARGV[1] then return {'epoch'} end
local count = tonumber(ARGV[4])
for i = 1, count do
  local wanted = ARGV[2 * i + 3]
  if wanted ~= '' then
    local found = redis.call('HGET', KEYS[3 + i], 'v') or '0'
    if found ~= wanted then return {'conflict', tonumber(redis.call('HGET', meta, 'version')), i, tonumber(found)} end
  end
end
local version = redis.call('HINCRBY', meta, 'version', 1)
local first = #meta + ${ROWS.length - META.length + 1}
local written = {}
for i = 1, count do
  local name, json = string.sub(KEYS[3 + i], first), ARGV[2 * i + 4]
  if json == '' then
    redis.call('DEL', KEYS[3 + i])
    written[i] = '[' .. name .. ']'
  else
    redis.call('HSET', KEYS[3 + i], 'v', version, 'j', json)
    written[i] = '[' .. name .. ',' .. json .. ']'
  end
end
for i = 2 * count + 5, #ARGV do
  redis.call('XADD', audit, '*', 'e', ARGV[i])
end
redis.call('XADD', changes, version .. '-0', 'c', '[' .. table.concat(written, ',') .. ']')
cut(changes, tonumber(ARGV[2]))
cut(audit, tonumber(ARGV[3]))
return {'done', version}
`

export const COMMIT = { lua: COMMIT_LUA, sha: createHash('sha1').update(COMMIT_LUA).digest('hex') }

/**
 * Creates `meta` if it does not exist, and returns {schema, epoch, migrating}.
 *
 *     KEYS  meta, changes
 *     ARGV  epoch for new data
 */
export const BEGIN = `
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[2])
  redis.call('HSET', KEYS[1], 'schema', ${SCHEMA}, 'epoch', ARGV[1], 'version', 0)
end
return redis.call('HMGET', KEYS[1], 'schema', 'epoch', 'migrating')
`

/**
 * Runs commands if a machine still has the lock of a migration. Otherwise fails.
 *
 *     KEYS  migration, then the keys of all commands in order
 *     ARGV  name of the machine, JSON of the commands: [name, number of its keys, ...arguments] each
 */
export const LOCKED = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('another machine migrates the data') end
local key = 2
for _, command in ipairs(cjson.decode(ARGV[2])) do
  local call = {command[1]}
  for i = key, key + command[2] - 1 do call[#call + 1] = KEYS[i] end
  key = key + command[2]
  for i = 3, #command do call[#call + 1] = command[i] end
  redis.call(unpack(call))
end
return 'done'
`
