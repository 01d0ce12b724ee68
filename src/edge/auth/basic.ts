import { headerValues } from '../../http/headers.js'
import type { Log } from '../../core/log.js'
import type { Exchange } from '../exchange/exchange.js'
import { Passwords, type Verdict } from './passwords.js'
import type { BasicOptions } from '../exchange/auth-options.js'
import { hashOf } from './users.js'

/** One per process: its thread starts with the first password. */
const passwords = new Passwords()
/** Compared for a user that does not exist, so that the time tells nothing. */
const NO_HASH = '$2b$10$fnyGIl/ZbSsYphwQ5uSVluL7pfx3hKCwU4Rxd1OrNy.PyXYKu2fAa'

/** Returns whether a request has the name and password of a user; `none` if it has no credentials. */
export function basicVerdict(exchange: Exchange, options: BasicOptions, log: Log): Verdict | 'none' | Promise<Verdict> {
  const { rawHeaders, clientShare, clientAddress, startedMonotonic: now } = exchange
  const given = headerValues(rawHeaders, 'authorization')
  const [, encoded] = /^basic +([A-Za-z0-9+/_=-]{1,2000})$/i.exec(given[0]?.trim() ?? '') ?? []
  if (encoded === undefined || given.length > 1) return 'none'
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 0) return 'none'
  const compare = (hash: string | undefined): Verdict | Promise<Verdict> => {
    const verdict = passwords.check(clientShare ?? clientAddress, text.slice(colon + 1), hash ?? NO_HASH)
    if (hash !== undefined) return verdict
    return verdict instanceof Promise ? verdict.then(without) : without(verdict)
  }
  const hash = hashOf(options, text.slice(0, colon), { now, log })
  return hash instanceof Promise ? hash.then(compare) : compare(hash)
}

const without = (verdict: Verdict): Verdict => (verdict === 'right' ? 'wrong' : verdict)

/** Returns the value of WWW-Authenticate. */
export const basicChallenge = ({ realm }: BasicOptions): string =>
  `Basic realm="${realm.replaceAll(/["\\]/g, String.raw`\$&`)}", charset="UTF-8"`
