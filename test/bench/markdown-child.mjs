// One converter in a process of its own: MB per CPU-second over the pages, after one warm-up pass.
import { CONVERTERS } from './markdown-converters.mjs'
import { cpuSeconds, median } from './measure.mjs'
import { readPages } from './pages.mjs'

const [name, rounds] = process.argv.slice(2)
const convert = await CONVERTERS[name]()
const pages = readPages()
const bytes = pages.reduce((sum, page) => sum + page.bytes.length, 0)
const failed = new Set()
const pass = () => {
  for (const { file, html, bytes } of pages) {
    try {
      convert(html, bytes)
    } catch {
      failed.add(file)
    }
  }
}

if (Number(rounds) > 1) pass()
const speeds = []
for (let round = 0; round < Number(rounds); round++) speeds.push(bytes / 1e6 / (await cpuSeconds(pass)))
process.send({ speed: median(speeds), failed: failed.size === 0 ? undefined : `${failed.size} pages failed` })
process.disconnect()
