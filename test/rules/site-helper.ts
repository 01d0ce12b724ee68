import type { IncomingMessage } from 'node:http'
import { request } from 'undici'
import type { Test } from 'tap'
import type { PhaseName } from '../../src/rules/phases.js'
import { startOrigin, startProxy } from '../helpers/proxy.js'
import { ruledZone, type RulesOptions, type TestRule, type TestRuleset } from '../helpers/rules.js'
import { markdownStage } from '../../src/edge/markdown/stage.js'
import { MemoryBudget } from '../../src/core/memory/memory-budget.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { silentLog } from '../../src/core/log.js'

/** What the origin responds with. */
export const PAGE = `<!doctype html><title>Page</title><h1>Heading</h1><p>${'A sentence of some length. '.repeat(20)}</p>`

/** An origin that returns the received request line in the header `x-asked` and responds as the path says. */
export async function origin(t: Test) {
  const seen: IncomingMessage[] = []
  const { url } = await startOrigin(t, (req, res) => {
    seen.push(req)
    req.resume()
    const path = (req.url ?? '').split('?')[0] ?? ''
    if (path === '/broken') {
      req.socket.destroy()
      return
    }
    const status = Number(/^\/status\/(\d+)/.exec(path)?.[1] ?? 200)
    res.writeHead(status, {
      'content-type': path.endsWith('.png') ? 'image/png' : 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(PAGE),
      etag: '"abc"',
      'last-modified': 'Sat, 21 Nov 2026 00:00:00 GMT',
      'cache-control': path === '/fixed' ? 'no-transform' : 'max-age=10, public',
      'set-cookie': ['a=1', 'b=2'],
      'x-asked': `${req.method} ${req.headers.host} ${req.url}`,
    })
    res.end(req.method === 'HEAD' ? undefined : PAGE)
  })
  return { url, seen }
}

interface Asked {
  readonly path?: string
  readonly method?: 'GET' | 'HEAD' | 'POST'
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** Creates a proxy with these rulesets. Returns a function that sends it requests. */
export async function site(
  t: Test,
  rulesets: readonly TestRuleset[],
  options: RulesOptions & { members?: string } = {},
) {
  const { url, seen } = await origin(t)
  const metrics = openMetrics({ process: false })
  const stages = [markdownStage({ memory: new MemoryBudget(1e6), metrics: openMetrics(), log: silentLog })]
  const proxy = await startProxy(t, [ruledZone(url, rulesets, { metrics, ...options })], { stages })
  const ask = async ({ path = '/', method = 'GET', headers = {}, body }: Asked = {}) => {
    const response = await request(`${proxy.url}${path}`, {
      method,
      headers: { host: 'example.test', ...headers },
      ...(body !== undefined && { body }),
    })
    const bytes = Buffer.from(await response.body.arrayBuffer())
    return { status: response.statusCode, headers: response.headers, bytes, text: bytes.toString() }
  }
  return { ask, seen, proxy, metrics }
}

/** Returns an entry point with one rule. */
export const one = (phase: PhaseName, action: string, params?: object, rule: Partial<TestRule> = {}): TestRuleset[] => [
  { phase, rules: [{ action, ...(params && { action_parameters: params as Record<string, unknown> }), ...rule }] },
]
