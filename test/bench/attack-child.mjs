// One attack input, whole and in chunks of 16 KiB.
import { Converter } from '../../dist/pipelines/markdown/index.js'
import { ATTACKS } from './attacks.mjs'

const bytes = Buffer.from(ATTACKS[process.argv[2]]())
globalThis.gc()
const before = process.memoryUsage().rss

function run(size) {
  const start = performance.now()
  const converter = new Converter()
  for (let at = 0; at < bytes.length; at += size) converter.write(bytes.subarray(at, at + size))
  converter.end()
  return (performance.now() - start).toFixed(0)
}

const chunks = run(16_384)
const memory = (process.resourceUsage().maxRSS / 1e3 - before / 1e6).toFixed(0)
process.send({ whole: run(bytes.length), chunks, memory })
process.disconnect()
