// Fills a spool: logpush-backlog-child.mjs FOLDER MEGABYTES. Tells how many records it took.
import { openSpools } from '../../dist/pipelines/logpush/spool/index.js'
import { systemClock as clock } from '../../dist/src/core/clock.js'
import { silentLog as log } from '../../dist/src/core/log.js'
import { lines } from './log-records.mjs'
import { ZONE } from './logpush-edged.mjs'

const [folder, megabytes] = process.argv.slice(2)
const COMMIT_BYTES = 256 * 1024

const spools = await openSpools(folder, { clock, log, limits: { bytes: 1e11 } })
const spool = await spools.open('http_requests', { type: 'zone', id: ZONE })
const input = lines(5000)
const writer = spool.writer()
let count = 0
let bytes = 0
for (let start = 0; bytes < Number(megabytes) * 2 ** 20; count++) {
  const end = input.indexOf(10, start)
  writer.add(input, start, end)
  start = end + 1 === input.length ? 0 : end + 1
  if (writer.size < COMMIT_BYTES) continue
  bytes += writer.size
  await writer.commit()
}
await writer.commit()
await spools.close()
console.log(count)
