// One converter in a process of its own: MB per CPU-second over the pages, after warm-up passes: a daemon
// runs for days, and what its engine spends on compiling in the first second is not what a page costs.
import { CONVERTERS } from './markdown-converters.mjs'
import { cpuSeconds, median } from './measure.mjs'
import { readPages } from './pages.mjs'

const [name, rounds] = process.argv.slice(2)
const convert = await CONVERTERS[name]()
const pages = readPages()
const bytes = pages.reduce((sum, page) => sum + page.bytes.length, 0)
const failed = new Set()
let seen = 0
const pass = () => {
  for (const { file, html, bytes } of pages) {
    try {
      // Read, as by whoever asks for it: what is only noted as a sum of its parts is not put together yet.
      seen += String(convert(html, bytes)).charCodeAt(0)
    } catch {
      failed.add(file)
    }
  }
}

const WARM_UP = 15
if (Number(rounds) > 1) for (let round = 0; round < WARM_UP; round++) pass()
const speeds = []
for (let round = 0; round < Number(rounds); round++) speeds.push(bytes / 1e6 / (await cpuSeconds(pass)))
process.send({ speed: median(speeds), seen, failed: failed.size === 0 ? undefined : `${failed.size} pages failed` })
process.disconnect()
