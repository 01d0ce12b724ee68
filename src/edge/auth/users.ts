import { open } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { fileFault } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { BasicOptions } from '../exchange/auth-options.js'

/** The file is looked at again after this time. */
const CHECK_MS = 1000
/** A disk that does not respond delays no request longer than this. */
const MAX_WAIT_MS = 1000
const MAX_BYTES = 1_000_000
const LINE = /^([^:#][^:]*):(\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53})\s*(?::.*)?$/

type Users = ReadonlyMap<string, string>

interface KnownFile {
  users: Users
  /** Time, size and number of the file that was read last. */
  stamp: string
  /** On the `monotonic` scale. */
  checkedAt: number
  /** Set while the file is being read. */
  reading: Promise<void> | undefined
  /** Why it cannot be read. Undefined if it can. */
  issue: string | undefined
}

const files = new Map<string, KnownFile>()

/**
 * Returns the hash of a user. A file is read again within a second after it changed. A file that cannot be read keeps the
 * users that it had, and the log says so.
 */
export function hashOf(
  { file, users }: BasicOptions,
  name: string,
  { now, log }: { readonly now: number; readonly log: Log },
): string | undefined | Promise<string | undefined> {
  if (file === undefined) return Object.hasOwn(users, name) ? users[name] : undefined
  const known = knownFile(file)
  if (now - known.checkedAt < CHECK_MS) return known.users.get(name)
  known.reading ??= refresh(file, known, { now, log }).finally(() => {
    known.reading = undefined
  })
  return withinWait(known.reading).then(() => known.users.get(name))
}

/** Reads a file before the first request, so that its users are known if it vanishes. The request reports errors. */
export function preloadUsers(file: string): void {
  if (!files.has(file)) read(file, knownFile(file)).catch(() => undefined)
}

function knownFile(file: string): KnownFile {
  const known = files.get(file)
  if (known) return known
  const made: KnownFile = { users: new Map(), stamp: '', checkedAt: -Infinity, reading: undefined, issue: undefined }
  files.set(file, made)
  return made
}

async function refresh(file: string, known: KnownFile, { now, log }: { now: number; log: Log }): Promise<void> {
  try {
    await read(file, known)
    if (known.issue !== undefined) log.info({ event: 'users_file_read', file, users: known.users.size })
    known.issue = undefined
  } catch (error) {
    const reason = fileFault(error)
    if (known.issue !== reason)
      log.error(
        { event: 'users_file_unreadable', file, reason, users: known.users.size },
        'the last users stay in force',
      )
    known.issue = reason
  }
  known.checkedAt = now
}

async function read(path: string, known: KnownFile): Promise<void> {
  const file = await open(path)
  try {
    const { mtimeMs, size, ino } = await file.stat()
    const stamp = `${mtimeMs} ${size} ${ino}`
    if (known.stamp === stamp) return
    if (size > MAX_BYTES) throw new Error(TOO_LARGE)
    known.users = usersIn(await file.readFile('utf8'))
    known.stamp = stamp
  } finally {
    await file.close()
  }
}

async function withinWait(reading: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MAX_WAIT_MS)
  })
  await Promise.race([reading, late])
  clearTimeout(timer)
}

const TOO_LARGE = `has more than ${MAX_BYTES} bytes`

/** Returns the users of a file as `htpasswd` writes it, by name. Lines that have another form are skipped. */
function usersIn(text: string): Users {
  return new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const [, name, hash] = LINE.exec(line.trim()) ?? []
      return name === undefined || hash === undefined ? [] : [[name, hash]]
    }),
  )
}

/** Returns the issue with a file of users, or undefined. Its lines have hashes, so none is shown. */
export function usersFileIssue(path: string): string | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    return `${path} cannot be read: ${fileFault(error)}; \`edged hash-password NAME\` prints a line for it`
  }
  if (Buffer.byteLength(text) > MAX_BYTES) return `${path} ${TOO_LARGE}`
  const wrong = text.split(/\r?\n/).findIndex((line) => !/^\s*(#.*)?$/.test(line) && !LINE.test(line.trim()))
  if (wrong >= 0)
    return `${path}:${wrong + 1} is not NAME:HASH with a bcrypt hash; \`edged hash-password NAME\` and \`htpasswd -B\` write one`
  return usersIn(text).size === 0
    ? `${path} has no users; \`edged hash-password NAME\` prints a line for it`
    : undefined
}
