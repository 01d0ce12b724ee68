import type { Clock } from '../core/clock.js'

const DAY_MS = 86_400_000

/**
 * Keys for session tickets, 48 bytes, new each day (UTC). They derive from the secret key of the installation, so every
 * process and machine with that key resumes the sessions of the others.
 */
export function dailyTicketKeys(derive: (purpose: string) => Buffer, clock: Clock): () => Buffer {
  let day = Number.NaN
  let keys = Buffer.alloc(0)
  return () => {
    const today = Math.floor(clock.now() / DAY_MS)
    if (today !== day) {
      day = today
      keys = Buffer.concat([derive(`tls tickets ${day}`), derive(`tls ticket names ${day}`).subarray(0, 16)])
    }
    return keys
  }
}
