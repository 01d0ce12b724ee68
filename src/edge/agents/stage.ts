import type { RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import { linkTo } from '../exchange/markdown-addresses.js'
import { ForwardingSink, type ResponseSink, type Stage } from '../exchange/response.js'
import type { Zone } from '../exchange/zones.js'
import { canonicalResponse, isForCanonical, type CanonicalDeps } from './canonical/canonical-response.js'
import { isForRobots, robotsResponse, type RobotsDeps } from './robots-response.js'
import { API_CATALOG, SERVER_CARD } from './site-files.js'

/** Changes responses of the origin for agents. */
export function agentsStage(deps: RobotsDeps & CanonicalDeps): Stage {
  return (exchange, next) => {
    if (isForRobots(exchange)) return robotsResponse(next, exchange, deps)
    const page = withLinks(exchange, next)
    return isForCanonical(exchange) ? canonicalResponse(page, exchange, deps) : page
  }
}

function withLinks(exchange: Exchange, next: ResponseSink): ResponseSink {
  const links = exchange.rawTarget === '/' ? linksOf(exchange.zone) : []
  return links.length > 0 ? new FrontPage(next, links) : next
}

/** Returns the Link fields of a front page: what else a zone has for agents. RFC 8288, RFC 9727. */
function linksOf({ agents }: Zone): string[] {
  const links: string[] = []
  if (agents !== undefined && agents.api_catalog !== false) links.push(linkTo(API_CATALOG, 'rel="api-catalog"'))
  if (agents?.mcp === true) links.push(linkTo(SERVER_CARD, 'rel="service-desc"; type="application/json"'))
  return links
}

class FrontPage extends ForwardingSink {
  readonly #links: readonly string[]

  constructor(next: ResponseSink, links: readonly string[]) {
    super(next)
    this.#links = links
  }

  override head(status: number, headers: RawHeaders): void {
    this.next.head(status, status === 200 ? [...headers, ...this.#links.flatMap((link) => ['link', link])] : headers)
  }
}
