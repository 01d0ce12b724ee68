import { robotsTokens } from '../../agents/access/robots-tokens.js'
import type { Catalogue } from '../../agents/catalogue/catalogue.js'
import type { MemoryBudget } from '../../core/memory/memory-budget.js'
import { headerOf, headerValues, withoutHeader, type RawHeaders } from '../../http/headers.js'
import { codingsToUndo, decodedNow } from '../exchange/content-coding.js'
import { signalOf } from '../exchange/content-signal.js'
import type { Exchange } from '../exchange/exchange.js'
import { pathOf } from '../exchange/normal-path.js'
import type { ResponseSink } from '../exchange/response.js'
import type { Zone } from '../exchange/zones.js'
import { changedFields, forWhole, hasTag, tagOf } from '../exchange/entity-tag.js'
import { changedRobots, type RobotsChanges } from './robots.js'
import { WholeResponse, type Whole } from '../exchange/whole-response.js'

/** Crawlers read at least 500 KiB. RFC 9309, 2.5. */
const MAX_BYTES = 512 * 1024

export interface RobotsDeps {
  readonly memory: MemoryBudget
  /** The known agents. */
  readonly catalogue: () => Catalogue
}

/** Returns whether edged changes the response to a request for robots.txt. */
export const isForRobots = ({ zone, method, target }: Exchange): boolean =>
  zone.agents?.robots === true && (method === 'GET' || method === 'HEAD') && pathOf(target) === '/robots.txt'

/**
 * Creates the sink of a response to a request for robots.txt, which adds the Content-Signal and the crawlers of `access`
 * to the file of the origin, or to an empty one if the origin has none.
 */
export function robotsResponse(
  next: ResponseSink,
  exchange: Exchange,
  { memory, catalogue }: RobotsDeps,
): ResponseSink {
  exchange.headers = forWhole(exchange.headers)
  const isHead = exchange.method === 'HEAD'
  return new WholeResponse(next, {
    memory,
    maxBytes: MAX_BYTES,
    isHead,
    accepts: isChanged,
    change: (response) => {
      exchange.caching.response = undefined
      return changed(response, exchange, changesOf(exchange.zone, catalogue()))
    },
  })
}

/**
 * Other errors pass. Crawlers read a 5xx as "nothing is allowed" (RFC 9309, 2.3.1.4), and a file in its place would allow
 * everything.
 */
function isChanged(status: number, headers: RawHeaders): boolean {
  if (status === 404 || status === 410) return true
  if (status !== 200) return false
  return codingsOf(headers) !== undefined && /^text\/|^$/i.test(headerOf(headers, 'content-type') ?? '')
}

const codingsOf = (headers: RawHeaders): string[] | undefined =>
  codingsToUndo(headerValues(headers, 'content-encoding').join(','))

/** Returns the file without its codings, which some origins apply to each response. Undefined if it cannot be decoded. */
function decoded({ headers, body }: Whole): Buffer | undefined {
  try {
    return codingsOf(headers)?.reduce((bytes, coding) => decodedNow(coding, bytes, MAX_BYTES), body)
  } catch {
    return undefined
  }
}

const CODING = new Set(['content-encoding'])
const HTML = /^\s*<(?:!doctype\s+html|html|head)\b/i

function changed(whole: Whole, { method, rawHeaders }: Exchange, changes: RobotsChanges): Whole {
  const { status, headers } = whole
  const body = status === 200 && method !== 'HEAD' ? decoded(whole) : whole.body
  // Its rules are not known.
  if (body === undefined) return whole
  const text = body.toString('latin1')
  const isHtml = /^text\/html/i.test(headerOf(headers, 'content-type') ?? '') || HTML.test(text)
  const isMissing = status !== 200 || isHtml
  const fields = changedFields(headers, CODING)
  const typed = isMissing ? withoutHeader(fields, 'content-type') : fields
  if (headerOf(typed, 'content-type') === undefined) typed.push('content-type', 'text/plain; charset=utf-8')
  // A missing file is often marked as one that must not be stored.
  const sent = isMissing ? withoutHeader(typed, 'cache-control') : typed
  if (headerOf(sent, 'cache-control') === undefined) sent.push('cache-control', 'max-age=3600')
  // The file of the origin, and so the merged file, is not known.
  if (method === 'HEAD' && !isMissing) return { status: 200, headers: sent, body: Buffer.alloc(0) }
  const robots = Buffer.from(changedRobots(isMissing ? undefined : text, changes), 'latin1')
  const tag = tagOf(robots)
  sent.push('etag', tag)
  if (hasTag(rawHeaders, tag)) return { status: 304, headers: sent, body: Buffer.alloc(0) }
  return { status: 200, headers: [...sent, 'content-length', String(robots.length)], body: robots }
}

const CHANGES = new WeakMap<Zone, { readonly catalogue: Catalogue; readonly changes: RobotsChanges }>()

/** Returns the changes of a zone, which are computed once. */
function changesOf(zone: Zone, catalogue: Catalogue): RobotsChanges {
  const known = CHANGES.get(zone)
  if (known?.catalogue === catalogue) return known.changes
  const changes = {
    signal: signalOf(zone),
    ...robotsTokens(zone.agents?.access ?? [], zone.agentAccess ?? [], catalogue),
  }
  CHANGES.set(zone, { catalogue, changes })
  return changes
}
