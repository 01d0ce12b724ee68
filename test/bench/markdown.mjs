import { ATTACKS, MEGABYTES } from './attacks.mjs'
import { CONVERTERS } from './markdown-converters.mjs'
import { inChild, SHORT, sized, table } from './measure.mjs'
import { corpora, largestPage, readPages } from './pages.mjs'

const ROUNDS = sized(3, 1)
const SLOW = new Set(['turndown', 'rehype-remark'])

async function speed() {
  for (const folder of corpora()) await speedOn(folder)
}

async function speedOn(folder) {
  const pages = readPages(folder)
  const megabytes = pages.reduce((sum, page) => sum + page.bytes.length, 0) / 1e6
  console.log(
    `\n${folder}: ${pages.length} pages, ${megabytes.toFixed(1)} MB; MB per CPU-second, best round, each converter in its own process\n`,
  )
  const found = new Map(Object.keys(CONVERTERS).map((name) => [name, []]))
  const trouble = new Map()
  const output = new Map()
  // Interleaved, so that a busy minute of the machine falls on all alike.
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of found.keys()) {
      if (round > 0 && SLOW.has(name)) continue
      const result = await inChild('./markdown-child.mjs', [name, SHORT || SLOW.has(name) ? '1' : '5', folder])
      if (result.best !== undefined) found.get(name).push(result.best)
      output.set(name, result)
      if (result.failed !== undefined) trouble.set(name, result.failed)
    }
  }
  const best = (name) => Math.max(...found.get(name))
  // Each is compared with the converter of edged that is given the same: bytes, or a string that is decoded already.
  const faster = (name) => best(name.endsWith(', bytes') ? 'edged, bytes' : 'edged') / best(name)
  table(
    [...found].map(([name, speeds]) => ({
      converter: name,
      'MB per CPU-s': speeds.length > 0 ? best(name).toFixed(1) : '-',
      'edged is faster by': speeds.length > 0 && !name.startsWith('edged') ? `${faster(name).toFixed(2)}x` : '',
      'MB out': ((output.get(name)?.written ?? 0) / 1e6).toFixed(2),
      'words of paragraphs': `${(100 * (output.get(name)?.share ?? 0)).toFixed(1)} %`,
      note: trouble.get(name) ?? '',
    })),
  )
  console.log(`\nmain content: ${(best('edged') / best('edged, main content')).toFixed(2)} of the CPU of the page`)
}

async function latency() {
  const page = largestPage()
  const result = await inChild('./latency-child.mjs', [], { execArgv: ['--expose-gc'] })
  console.log(`\none page of ${(page.bytes.length / 1e6).toFixed(2)} MB (${page.file}) in chunks of 16 KiB\n`)
  table([result.cold, result.warm])
}

async function attacks() {
  console.log(`\n${MEGABYTES} MB attack inputs, milliseconds of wall time, each in a process of its own\n`)
  const rows = []
  for (const name of Object.keys(ATTACKS)) {
    const { whole, chunks, memory, failed } = await inChild('./attack-child.mjs', [name], { execArgv: ['--expose-gc'] })
    rows.push({ input: name, whole, '16 KiB chunks': chunks, 'peak MB above start': memory, note: failed ?? '' })
  }
  table(rows)
  const worst = Math.max(...rows.map((row) => Math.max(Number(row.whole), Number(row['16 KiB chunks']))))
  console.log(`\nslowest: ${worst} ms`)
}

const only = process.argv[2]
for (const part of [speed, latency, attacks]) if (only === undefined || only === part.name) await part()
