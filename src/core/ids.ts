import { randomBytes, randomUUID } from 'node:crypto'

/** Returns 32 lower-case hexadecimal digits, the form of account, zone, ruleset and rule ids (`facts.md` 0.2). */
export const newId = (): string => randomBytes(16).toString('hex')

/** Returns an RFC 9562 version 4 UUID, the form of webhook, job and finding ids. */
export const newUuid = (): string => randomUUID()

let lastMs = 0
let inMs = 0

/**
 * Returns an RFC 9562 version 7 UUID. Ids of one process sort by creation, even if the clock jumps. Ids of several
 * machines sort by time.
 */
export function newOrderedUuid(nowMs: number): string {
  if (nowMs > lastMs) [lastMs, inMs] = [nowMs, 0]
  else if (inMs === 0xfff) [lastMs, inMs] = [lastMs + 1, 0]
  else inMs += 1
  const time = lastMs.toString(16).padStart(12, '0')
  const random = pooled()
  const variant = (0x8 | (parseInt(random[0]!, 16) & 0x3)).toString(16)
  const tail = variant + random.slice(1)
  const count = inMs.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${tail.slice(0, 4)}-${tail.slice(4)}`
}

const POOL = 4096
let pool = ''
let at = 0

/** Returns 16 lower-case hexadecimal digits that identify one request, in its response and in its log line. */
export const newRayId = (): string => pooled()

/** Returns 8 random bytes as hexadecimal digits. One call for many ids takes a tenth of the time. */
function pooled(): string {
  if (at === pool.length) {
    pool = randomBytes(POOL).toString('hex')
    at = 0
  }
  at += 16
  return pool.slice(at - 16, at)
}
