// Time to the first Markdown and peak memory for the largest page: cold, then warm.
import { Converter } from '../../dist/pipelines/markdown/index.js'
import { largestPage } from './pages.mjs'

const { bytes } = largestPage()

function run(what) {
  globalThis.gc()
  const before = process.memoryUsage().rss
  let peak = before
  let first
  let written = 0
  const start = performance.now()
  const converter = new Converter()
  for (let at = 0; at < bytes.length; at += 16_384) {
    const markdown = converter.write(bytes.subarray(at, at + 16_384))
    if (markdown !== '') first ??= { ms: performance.now() - start, chunk: at / 16_384 + 1 }
    written += markdown.length
    if (at % (16_384 * 16) === 0) peak = Math.max(peak, process.memoryUsage().rss)
  }
  written += converter.end().length
  return {
    run: what,
    'first Markdown after ms': first.ms.toFixed(2),
    'in chunk': first.chunk,
    'whole page ms': (performance.now() - start).toFixed(0),
    'peak MB above start': ((Math.max(peak, process.memoryUsage().rss) - before) / 1e6).toFixed(1),
    'Markdown KB': (written / 1e3).toFixed(0),
  }
}

const cold = run('cold')
for (let i = 0; i < 5; i++) run('warm-up')
process.send({ cold, warm: run('warm') })
process.disconnect()
