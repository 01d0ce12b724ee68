// One converter in a process of its own: MB per CPU-second over the pages, after warm-up passes: a daemon
// runs for days, and what its engine spends on compiling in the first second is not what a page costs.
import { CONVERTERS } from './markdown-converters.mjs'
import { cpuSeconds, median } from './measure.mjs'
import { readPages } from './pages.mjs'

const [name, rounds, folder] = process.argv.slice(2)
const convert = await CONVERTERS[name]()
const pages = readPages(folder)
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

/** The longer words of paragraphs, as far as plain patterns find them: the same for every converter. */
function proseOf(html) {
  const text = html
    .replace(/<(script|style|noscript|template|svg|header|footer|nav)\b[^]*?<\/\1>/gi, ' ')
    .match(/<p[ >][^]*?<\/p>/gi)
  return new Set(
    (text ?? [])
      .join(' ')
      .replace(/<[^>]*>|&\w+;/g, ' ')
      .match(/\b[A-Za-z]{5,}\b/g),
  )
}

// What a fast converter leaves out it does not have to write: so the size of the output and the share of words in it.
let written = 0
const shares = []
for (const { html, bytes } of pages) {
  let markdown = ''
  try {
    markdown = String(convert(html, bytes))
  } catch {}
  written += Buffer.byteLength(markdown)
  const words = proseOf(html)
  const found = new Set(markdown.match(/\b[A-Za-z]{5,}\b/g))
  if (words.size > 0) shares.push([...words].filter((word) => found.has(word)).length / words.size)
}
const share = shares.reduce((sum, each) => sum + each, 0) / Math.max(1, shares.length)

const WARM_UP = 15
if (Number(rounds) > 1) for (let round = 0; round < WARM_UP; round++) pass()
const speeds = []
for (let round = 0; round < Number(rounds); round++) speeds.push(bytes / 1e6 / (await cpuSeconds(pass)))
process.send({
  speed: median(speeds),
  best: Math.max(...speeds),
  written,
  share,
  seen,
  failed: failed.size === 0 ? undefined : `${failed.size} pages failed`,
})
process.disconnect()
