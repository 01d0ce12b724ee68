import type { Exchange } from '../exchange/exchange.js'
import { withoutHeader } from '../../http/headers.js'
import type { Run } from '../../rules/engine/run.js'

/**
 * Runs the rules that change how a response is stored, and removes the fields that cache rules exclude. With a cache:
 * once for each response of the origin, before it is stored. `exchange.response` has the response.
 */
export function runCacheRules(exchange: Exchange, run: Run): void {
  run.response('http_response_cache_settings')
  const { response } = exchange
  const { cache } = exchange.decisions
  if (!cache || !response) return
  const { strip_etags, strip_last_modified, strip_set_cookie } = cache
  let { headers } = response
  if (strip_etags) headers = withoutHeader(headers, 'etag')
  if (strip_last_modified) headers = withoutHeader(headers, 'last-modified')
  if (strip_set_cookie) headers = withoutHeader(headers, 'set-cookie')
  if (headers === response.headers) return
  exchange.response = { ...response, headers }
  run.responded()
}
