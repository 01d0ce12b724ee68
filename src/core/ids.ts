import { randomBytes, randomUUID } from 'node:crypto'

/** 32 lower-case hexadecimal digits: the form of account, zone, ruleset and rule ids (`facts.md` 0.2). */
export const newId = (): string => randomBytes(16).toString('hex')

/** An RFC 9562 version 4 UUID, the form of webhook, job and finding ids. */
export const newUuid = (): string => randomUUID()

const POOL = 4096
let pool = Buffer.alloc(0)
let at = 0

/** 16 lower-case hexadecimal digits that name one request, in its answer and in its log line. */
export function newRayId(): string {
  if (at + 8 > pool.length) {
    pool = randomBytes(POOL)
    at = 0
  }
  at += 8
  return pool.toString('hex', at - 8, at)
}
