import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testFolder } from '../../helpers/folder.js'
import { programArgs } from '../../helpers/program.js'
import { receiver } from '../../helpers/record-receiver.js'
import { until } from '../../helpers/web.js'
import { NO_RUNTIME } from './transform-helper.js'

const CHILD = programArgs(new URL('../../helpers/run-child.ts', import.meta.url))

const recordsOf = (from: number, count: number): string =>
  Array.from({ length: count }, (_, at) => `{"n":${from + at}}\n`).join('')

/** Each third record is dropped, the others become two. */
const MODULE = `export default {
  record({ n }) {
    return n % 3 === 0 ? null : [{ id: n + 'a' }, { id: n + 'b' }]
  },
}`

t.test(
  'kill -9 at any point loses no record of a module, and repeats only batches',
  { skip: NO_RUNTIME },
  async (t) => {
    const folder = testFolder(t, { 'clean.js': MODULE, log: recordsOf(0, 2000) })
    const sink = await receiver(t)
    const file = join(folder, 'p.yaml')
    writeFileSync(
      file,
      `source: { file: ['log'], follow: true }
dataset: any
transform: ./clean.js
output_options: { field_names: [id], output_type: csv }
max_upload_records: 333
destination_conf: ${sink.url}
`,
    )
    const child = () => spawn(process.execPath, [...CHILD, file, join(folder, 'state')], { stdio: 'ignore' })
    let written = 2000
    for (let round = 0; round < 3; round++) {
      const process = child()
      t.teardown(() => process.kill('SIGKILL'))
      appendFileSync(join(folder, 'log'), recordsOf(written, 2000))
      written += 2000
      const before = sink.arrived.size
      await until(() => sink.arrived.size >= before + 500)
      process.kill('SIGKILL')
      await once(process, 'exit')
    }
    const last = child()
    t.teardown(() => last.kill('SIGKILL'))
    const expected = Array.from({ length: written }, (_, n) => (n % 3 === 0 ? [] : [`"${n}a"`, `"${n}b"`])).flat()
    await until(() => sink.arrived.size >= expected.length - 333)
    last.kill('SIGTERM')
    await once(last, 'exit')
    t.same([...sink.arrived.keys()].toSorted(), expected.toSorted())
    t.strictSame(sink.repeated(), [], 'batches are sent again only under their own names')
  },
)
