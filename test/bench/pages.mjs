import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Real pages from the folder in EDGED_CORPUS; without one, the bundled sample site, repeated to a useful size. */
export function readPages() {
  const corpus = process.env.EDGED_CORPUS
  const folder = corpus ?? fileURLToPath(new URL('../../demo/site', import.meta.url))
  return readdirSync(folder)
    .filter((file) => file.endsWith('.html'))
    .sort()
    .map((file) => {
      const page = readFileSync(join(folder, file))
      const bytes = corpus ? page : Buffer.concat(Array.from({ length: 50 }, () => page))
      return { file, bytes, html: bytes.toString() }
    })
}

/** About 1.8 MB: the largest page of the corpus. */
export const largestPage = () => readPages().reduce((a, b) => (b.bytes.length > a.bytes.length ? b : a))
