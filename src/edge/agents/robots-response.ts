import { robotsTokens } from '../../agents/access/robots-tokens.js'
import type { Catalogue } from '../../agents/catalogue/catalogue.js'
import type { MemoryBudget } from '../../core/memory/memory-budget.js'
import { headerOf, withoutHeader, type RawHeaders } from '../../http/headers.js'
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
  const coding = headerOf(headers, 'content-encoding')
  return (
    (coding === undefined || /^identity$/i.test(coding)) && /^text\/|^$/i.test(headerOf(headers, 'content-type') ?? '')
  )
}

const HTML = /^\s*<(?:!doctype\s+html|html|head)\b/i

function changed({ status, headers, body }: Whole, { method, rawHeaders }: Exchange, changes: RobotsChanges): Whole {
  const text = body.toString('latin1')
  const isHtml = /^text\/html/i.test(headerOf(headers, 'content-type') ?? '') || HTML.test(text)
  const isMissing = status !== 200 || isHtml
  const fields = changedFields(headers)
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
