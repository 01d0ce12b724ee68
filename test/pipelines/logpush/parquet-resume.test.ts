import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import t from 'tap'
import { testFolder } from '../../helpers/folder.js'
import { programArgs } from '../../helpers/program.js'
import { until } from '../../helpers/web.js'

const CHILD = programArgs(new URL('../../helpers/run-child.ts', import.meta.url))
const BATCH = 500
const ROUND = 4000

const recordsOf = (from: number): string =>
  Array.from({ length: ROUND }, (_, at) => `{"n":${from + at},"s":"value ${at % 7}"}\n`).join('')

/** Returns the complete files of a folder by their names. */
const filesOf = (folder: string): Map<string, Buffer> =>
  new Map(
    (existsSync(folder) ? readdirSync(folder) : [])
      .filter((name) => name.endsWith('.parquet') && !name.startsWith('.'))
      .map((name) => [name, readFileSync(join(folder, name))]),
  )

async function numbersOf(file: Buffer): Promise<number[]> {
  const { buffer, byteOffset, byteLength } = file
  const rows = await parquetReadObjects({ file: buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer })
  return rows.map(({ n }) => Number(n))
}

t.test('kill -9 at any point loses no record of Parquet files, and files keep their bytes', async (t) => {
  const folder = testFolder(t)
  const out = join(folder, 'out')
  const log = join(folder, 'log')
  const file = join(folder, 'p.yaml')
  writeFileSync(log, '')
  writeFileSync(
    file,
    `source: { file: ['log'], follow: true }
dataset: any
schema: { n: int, s: string }
output_options: { output_type: parquet }
max_upload_records: ${BATCH}
destination_conf: file:out
`,
  )
  const seen = new Map<string, Buffer>()
  const remember = () => {
    for (const [name, bytes] of filesOf(out)) {
      const before = seen.get(name)
      if (before !== undefined) t.ok(before.equals(bytes), `${name} keeps its bytes`)
      seen.set(name, bytes)
    }
  }
  let written = 0
  for (let round = 0; round < 3; round++) {
    appendFileSync(log, recordsOf(written))
    written += ROUND
    const before = seen.size
    const child = spawn(process.execPath, [...CHILD, file, join(folder, 'state')], { stdio: 'ignore' })
    t.teardown(() => child.kill('SIGKILL'))
    await until(() => filesOf(out).size > before + 2)
    child.kill('SIGKILL')
    await once(child, 'exit')
    remember()
  }
  const last = spawn(process.execPath, [...CHILD, file, join(folder, 'state')], { stdio: 'ignore' })
  t.teardown(() => last.kill('SIGKILL'))
  await until(() => filesOf(out).size >= written / BATCH - 1)
  last.kill('SIGTERM')
  await once(last, 'exit')
  remember()
  const numbers = (await Promise.all([...seen.values()].map(numbersOf))).flat()
  t.strictSame(
    numbers.toSorted((a, b) => a - b),
    Array.from({ length: written }, (_, n) => n),
    'each record is in one file',
  )
})
