import type { RequestListener } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { readConfig } from '../../../src/config/load.js'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { listenProxy } from '../../../src/edge/serve/server.js'
import { BUILT_IN_CATALOGUE } from '../../../src/agents/catalogue/catalogue.js'
import { CanonicalPages } from '../../../src/edge/agents/canonical/canonical-pages.js'
import { agentsStage } from '../../../src/edge/agents/stage.js'
import { ResponseCache } from '../../../src/edge/cache/cache.js'
import { observingStage } from '../../../src/edge/agents/mcp/observed-page.js'
import { PageIndex } from '../../../src/edge/agents/mcp/page-index.js'
import { markdownStage } from '../../../src/edge/markdown/stage.js'
import { zoneOf, zoneTable } from '../../../src/edge/exchange/zones.js'
import { openDial } from '../../helpers/proxy.js'
import { ask, originServer, type Ask, type Responded } from '../../helpers/web.js'

/** Starts a proxy with one zone whose origin responds with `handler`. */
export async function site(
  t: Test,
  handler: RequestListener,
  {
    memory = 256_000_000,
    settings = 'on',
    plan = 'pro',
    markdown = '',
    agents = '',
    cache = 'off',
    hostnames = ['example.test'],
  } = {},
) {
  const origin = await originServer(t, handler)
  const config = readConfig(
    `proxy: { listen: '127.0.0.1:0' }
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: a }]
zones:
  - id: 9f1839b6152d298aca64c4e906b6d074
    account: 023e105f4ecef8ad9ca31a8372d0c353
    name: example.test
    hostnames: ${JSON.stringify(hostnames)}
    origin: ${origin}
    plan: ${plan}
    markdown: { ${markdown} }
    agents: { ${agents} }
    cache: ${cache}
    settings: { content_converter: ${settings} }`,
    'test.yaml',
  )
  const pages = new PageIndex(32_000_000, () => systemClock.monotonic())
  const budget = new MemoryBudget(memory)
  const metrics = openMetrics({ process: false })
  const proxy = await listenProxy(config.proxy, {
    zones: { current: zoneTable(config.zones.map((zone) => zoneOf(zone))) },
    pages,
    version: '1.2.3',
    stages: [
      observingStage(pages, () => systemClock.monotonic()),
      markdownStage({ memory: budget, metrics, log: silentLog }),
      agentsStage({
        memory: budget,
        catalogue: () => BUILT_IN_CATALOGUE,
        pages: new CanonicalPages(() => systemClock.monotonic()),
      }),
    ],
    ...(cache !== 'off' && {
      cache: new ResponseCache(config.cache, { facts: { country: () => undefined }, clock: systemClock, metrics }),
    }),
    dial: openDial,
    clock: systemClock,
    log: silentLog,
    metrics,
  })
  t.teardown(async () => {
    await proxy.close()
    if (budget.used !== 0) throw new Error(`${budget.used} bytes stay held`)
  })

  const { port } = proxy
  const get = async (path: string, how?: Ask): Promise<Responded> => decoded(await ask(port, path, how))
  const outcomes = async (): Promise<Record<string, number>> => {
    const { values } = await metrics.getSingleMetric('edged_markdown_pages_total')!.get()
    return Object.fromEntries(values.filter(({ value }) => value > 0).map((v) => [v.labels['outcome'], v.value]))
  }
  return { get, outcomes, budget, port, pages }
}

/** Returns a response whose body is decoded if it is Markdown. */
function decoded(response: Responded): Responded {
  const { headers, body, complete } = response
  if (!complete || body.length === 0 || !headers['content-type']?.startsWith('text/markdown')) return response
  const coding = headers['content-encoding']
  if (coding === 'br') return { ...response, body: brotliDecompressSync(body) }
  return coding === 'gzip' ? { ...response, body: gunzipSync(body) } : response
}
