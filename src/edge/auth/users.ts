import { readFileSync, statSync } from 'node:fs'
import type { BasicOptions } from '../exchange/auth-options.js'

/** The file is looked at again after this time. */
const CHECK_MS = 1000
const MAX_BYTES = 1_000_000

interface ReadFile {
  readonly users: ReadonlyMap<string, string>
  readonly stamp: string
  checkedAt: number
}

const NOBODY: ReadonlyMap<string, string> = new Map()
const files = new Map<string, ReadFile>()

/** Returns the hash of a user. A file is read again within a second after it changed; one that cannot be read has the users that it had. */
export function hashOf({ file, users }: BasicOptions, name: string, now: number): string | undefined {
  if (file === undefined) return Object.hasOwn(users, name) ? users[name] : undefined
  return usersOf(file, now).get(name)
}

function usersOf(file: string, now: number): ReadonlyMap<string, string> {
  const known = files.get(file)
  if (known && now - known.checkedAt < CHECK_MS) return known.users
  try {
    const { mtimeMs, size, ino } = statSync(file)
    const stamp = `${mtimeMs} ${size} ${ino}`
    const isSame = known?.stamp === stamp || size > MAX_BYTES
    const users = isSame ? (known?.users ?? NOBODY) : usersIn(readFileSync(file, 'utf8'))
    files.set(file, { users, stamp, checkedAt: now })
    return users
  } catch {
    files.set(file, { users: known?.users ?? NOBODY, stamp: known?.stamp ?? '', checkedAt: now })
    return known?.users ?? NOBODY
  }
}

/** Returns the users of a file as `htpasswd` writes it, by name. Lines that have another form are skipped. */
function usersIn(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const [, name, hash] = /^([^:#][^:]*):(\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53})\s*(?::.*)?$/.exec(line.trim()) ?? []
      return name === undefined || hash === undefined ? [] : [[name, hash]]
    }),
  )
}
