import t from 'tap'
import { manifestBytes, checkAnnounced, readManifest } from '../../src/workers/assets/manifest.js'
import type { AnnouncedFiles } from '../../src/workers/assets/manifest.js'

const COUNT = 20_000
const hash = (at: number): string => at.toString(16).padStart(32, '0')
const FILES: AnnouncedFiles = Object.fromEntries(
  Array.from({ length: COUNT }, (_, at) => [`/${COUNT - at}.html`, { hash: hash(at), size: at }]),
)
const LIMITS = { files: COUNT, file_bytes: COUNT }

t.test('few files of a large manifest are read between two pauses', async (t) => {
  let pauses = 0
  const pause = async () => void pauses++
  await checkAnnounced(FILES, LIMITS, pause)
  t.ok(pauses >= 39, `${pauses} pauses`)

  pauses = 0
  let read = 0
  const perPause = [0]
  const stored = (id: string) => {
    perPause[pauses] = (perPause[pauses] ?? 0) + 1
    read++
    return { blob: `b${id}`, size: 1, type: '' }
  }
  const bytes = await manifestBytes(FILES, stored, pause)
  t.equal(read, COUNT)
  t.ok(Math.max(...perPause) <= 500)
  const rows = JSON.parse(bytes.toString()) as unknown[][]
  t.equal(JSON.stringify(rows), bytes.toString(), 'the bytes have no white space')
  t.same(
    rows.map(([path]) => path),
    Object.keys(FILES).toSorted(),
  )
  t.match(readManifest(bytes).get('/1.html'), { blob: `b${hash(COUNT - 1)}`, type: 'text/html' })
  t.equal((await manifestBytes({}, stored, pause)).toString(), '[]')
})
