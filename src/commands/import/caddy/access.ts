import type { Auth } from '../site/model.js'
import type { Report } from '../site/report.js'
import type { Segment } from './parse.js'
import { proxied } from './proxy.js'

const BCRYPT = /^\$2[abxy]\$(0[4-9]|1[0-9])\$[./A-Za-z0-9]{53}$/

/** Returns the users of a `basic_auth`. Hashes are bcrypt, as they are or in base64. */
export function basicAuth({ name, block = [] }: Segment, args: readonly string[], report: Report): Auth {
  const users: Record<string, string> = {}
  for (const {
    name: user,
    args: [given = ''],
    place,
  } of block) {
    const hash = given.startsWith('$') ? given : Buffer.from(given, 'base64').toString('latin1')
    if (BCRYPT.test(hash)) users[user] = hash
    else report.add(place, `${name} ${user}`, 'the hash is not bcrypt; make one with: edged hash-password')
  }
  const [, realm] = args
  return { basic: { realm: realm ?? 'restricted', users } }
}

/** Returns the service of a `forward_auth`. */
export function forwardAuth(segment: Segment, args: readonly string[], report: Report): Auth {
  const { block = [], place } = segment
  const own = new Set(['uri', 'copy_headers'])
  const rest = { ...segment, block: block.filter(({ name }) => !own.has(name) && name !== 'header_up') }
  const origin = proxied(rest, args, report)?.target.origin
  const path = block.find(({ name }) => name === 'uri')?.args[0] ?? '/'
  const fields = block
    .filter(({ name }) => name === 'copy_headers')
    .flatMap((each) => [...each.args, ...(each.block ?? []).map(({ name }) => name)])
  const copy = fields.flatMap((field) => {
    if (!field.includes('>')) return [field.toLowerCase()]
    report.add(place, `copy_headers ${field}`, 'the origin gets the field under its own name alone')
    return []
  })
  for (const each of block)
    if (each.name === 'header_up')
      report.add(
        each.place,
        `header_up ${each.args.join(' ')}`,
        'the service gets the fields of the client and X-Forwarded-*',
      )
  if (origin === undefined) {
    report.add(place, 'forward_auth', 'it has no single upstream; nobody gets in until `url` names one')
    return { forward: { url: 'http://127.0.0.1:9/', ...(copy.length > 0 && { copy }) } }
  }
  const url = origin.startsWith('unix:') ? `${origin}:${path}` : `${origin}${path}`
  return { forward: { url, ...(copy.length > 0 && { copy }) } }
}
