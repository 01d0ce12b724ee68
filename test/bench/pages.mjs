import { readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { sized } from './measure.mjs'

const SAMPLE = fileURLToPath(new URL('../../demo/site', import.meta.url))

/** The folders of pages in EDGED_CORPUS, separated as in PATH; without it, the bundled sample site. */
export const corpora = () => (process.env.EDGED_CORPUS ?? SAMPLE).split(delimiter)

/** Returns the pages (`.html`, `.html.gz`) of a folder; those of the sample site repeated to a useful size. */
export function readPages(folder = corpora()[0], repeats = folder === SAMPLE ? sized(50, 10) : 1) {
  return readdirSync(folder)
    .filter((file) => /\.html(?:\.gz)?$/.test(file))
    .sort()
    .map((file) => {
      const content = readFileSync(join(folder, file))
      const page = file.endsWith('.gz') ? gunzipSync(content) : content
      const bytes = Buffer.concat(Array.from({ length: repeats }, () => page))
      return { file, bytes, html: bytes.toString() }
    })
}

/** Returns the largest page of the first folder. */
export const largestPage = () => readPages().reduce((a, b) => (b.bytes.length > a.bytes.length ? b : a))
