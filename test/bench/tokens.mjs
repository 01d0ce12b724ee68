// The estimate of `x-markdown-tokens` (four bytes each) against tokenizers of language models, over the Markdown of
// the pages in EDGED_CORPUS.
import { convert } from '../../dist/pipelines/markdown/index.js'
import { table } from './measure.mjs'
import { corpora, readPages } from './pages.mjs'
import { hasPackage } from './ports.mjs'

const BYTES_PER_TOKEN = 4
const TOKENIZERS = ['o200k_base', 'cl100k_base']
/** Text such as `<|endoftext|>` counts like any other. */
const OPTIONS = { disallowedSpecial: new Set() }

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
const percent = (value) => `${value < 0 ? '' : '+'}${(value * 100).toFixed(1)} %`

if (!hasPackage('gpt-tokenizer')) {
  console.log('gpt-tokenizer: not installed')
  process.exit()
}
const encoders = await Promise.all(
  TOKENIZERS.map(async (name) => [name, (await import(`gpt-tokenizer/encoding/${name}`)).encode]),
)

for (const folder of corpora()) {
  const texts = readPages(folder, 1).map(({ bytes }) => convert(bytes))
  const pages = texts.filter((text) => text !== '')
  console.log(`\n${folder}: ${pages.length} pages; error of the estimate (above 0: too high)\n`)
  table(
    encoders.map(([tokenizer, encode]) => {
      const counts = pages.map((text) => ({ bytes: Buffer.byteLength(text), tokens: encode(text, OPTIONS).length }))
      const errors = counts.map(({ bytes, tokens }) => Math.ceil(bytes / BYTES_PER_TOKEN) / tokens - 1)
      errors.sort((a, b) => a - b)
      const sum = (of) => counts.reduce((all, count) => all + of(count), 0)
      const bytes = sum((count) => count.bytes)
      const tokens = sum((count) => count.tokens)
      return {
        tokenizer,
        'bytes per token': (bytes / tokens).toFixed(2),
        'all pages': percent(bytes / BYTES_PER_TOKEN / tokens - 1),
        median: percent(at(errors, 0.5)),
        '10th percentile': percent(at(errors, 0.1)),
        '90th percentile': percent(at(errors, 0.9)),
        worst: `${percent(errors[0])}, ${percent(errors.at(-1))}`,
      }
    }),
  )
}
