import t from 'tap'
import { AssetResponse } from '../../src/edge/assets/asset-response.js'
import { BlobCache } from '../../src/edge/assets/blob-cache.js'
import type { Exchange } from '../../src/edge/exchange/exchange.js'
import type { AssetFile } from '../../src/workers/assets/files.js'
import { RememberingSite } from '../../src/workers/assets/remembering-site.js'
import { AssetSite, type AssetDecision, type SiteParts } from '../../src/workers/assets/site.js'

const file = (blob: string): AssetFile => ({ blob: blob.padEnd(64, '0'), size: 4, type: 'text/html' })
const PARTS: SiteParts = {
  files: new Map([
    ['/index.html', file('a')],
    ['/page.html', file('b')],
    ['/404.html', file('c')],
    ['/caf\u00e9.html', file('d')],
  ]),
  config: {
    not_found_handling: '404-page',
    _redirects: '/old /page 302\n/under/* /page 200',
    _headers: 'https://one.test/*\n  x-host: one\nhttps://two.test/*\n  x-host: two',
  },
  worker: true,
  compatibilityDate: '2025-05-01',
}
const TARGETS = [
  '/',
  '/page',
  '/page?a=b',
  '/page.html',
  '/old',
  '/old?c',
  '/under/x',
  '/none',
  '/caf%C3%A9',
  '/caf\xe9',
]

/** A decision without the fields that are remembered with it. */
function plain(decision: AssetDecision): unknown {
  const { head: _head, ...rest } = decision as AssetDecision & { head?: unknown }
  return rest
}

t.test('a site that remembers decides as one that does not, each time', async (t) => {
  const [site, remembering] = [new AssetSite(PARTS), new RememberingSite(PARTS)]
  for (const round of [1, 2])
    for (const target of TARGETS)
      for (const method of ['GET', 'HEAD', 'POST'])
        for (const navigates of [true, false]) {
          const request = { method, host: 'one.test', target, navigates }
          const text = `${method} ${target}, round ${round}`
          t.strictSame(plain(remembering.decide(request)), plain(site.decide(request)), text)
        }
})

t.test('the fields of a file are those of the host, whoever asked before', async (t) => {
  const site = new RememberingSite(PARTS)
  const blobs = new BlobCache(async () => Buffer.from('page'), 1e6)
  const respond = async (host: string, fields: Record<string, string> = {}): Promise<string> =>
    await new Promise((resolve, reject) => {
      const headers = Object.entries(fields).flat()
      const field = (name: string) => fields[name]
      const exchange = { method: 'GET', host, target: '/page', headers, field } as unknown as Exchange
      let text = ''
      const sink = {
        head: (status: number, list: readonly string[]) => void (text = `${status} ${list.join(' ')}`),
        data: () => true,
        end: () => resolve(text),
        fail: reject,
        onDrain: () => undefined,
      }
      new AssetResponse(site, exchange, sink, { blobs }).send()
    })
  for (let round = 0; round < 3; round++) {
    t.match(await respond('one.test'), /^200 .*x-host one .*content-length 4$/)
    t.match(await respond('two.test'), /^200 .*x-host two .*content-length 4$/)
    t.match(await respond('two.test', { range: 'bytes=0-1' }), /^206 .*x-host two .*content-length 2$/)
    t.match(await respond('three.test', { 'if-none-match': '*' }), /^304 (?!.*content-length)(?!.*x-host)/)
  }
})
