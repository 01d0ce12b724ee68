import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { programArgs } from '../helpers/program.js'
import { receiver } from '../helpers/record-receiver.js'
import { until } from '../helpers/web.js'
import { recordOf, sourceRun } from '../pipelines/sources/source-helper.js'

/** A server, or a sender, that a source is tested with. */
export interface SourcePlace {
  readonly source: object
  /** The same source for a run that ends by itself, after what there is. */
  readonly ending?: object
  /** Sends records; resolves when the other side has accepted them. */
  send(records: readonly string[]): Promise<void>
  /** Resolves when the source has acknowledged all that was sent. */
  drained(): Promise<void>
}

export interface SourceContract {
  readonly place: (t: Test, folder: string) => Promise<SourcePlace>
  /** Whether any number of runs divide the records. */
  readonly shared?: true
}

const CHILD = programArgs(new URL('../helpers/run-child.ts', import.meta.url))
const LIMITS = 'max_upload_records: 1000\n'

/** What every source does whose other side can send again: nothing is lost, wherever a run is killed. */
export function sourceContract(t: Test, { place, shared }: SourceContract): void {
  t.test('kill -9 at any point loses nothing', async (t) => {
    const folder = testFolder(t)
    const { source, ending, send, drained } = await place(t, folder)
    const sink = await receiver(t)
    const sent = senderOf(send)
    const losses: string[] = []
    let child = run(t, folder, { source, url: sink.url, losses })
    // The kills fall into the start, reading, the upload of batches and the commit of what was read, as it happens.
    for (const size of [0, 1500, 1300]) {
      const before = sink.arrived.size
      const sending = sent.more(size)
      if (size > 1000) await until(() => sink.arrived.size > before)
      await kill(child)
      child = run(t, folder, { source, url: sink.url, losses })
      await sending
    }
    await sent.more(100)
    await drained()
    await kill(child)
    await finish(folder, source, sink.url, ending)
    t.strictSame(missing(sent.ids, sink), [])
    t.strictSame(losses, [], 'and no loss is reported')
  })

  if (shared !== true) return
  t.test('two runs divide the records, and lose nothing when one is killed', async (t) => {
    const folder = testFolder(t, { one: {}, two: {} })
    const { source, send, drained } = await place(t, folder)
    const sinks = [await receiver(t), await receiver(t)]
    const sent = senderOf(send)
    const folders = ['one', 'two'].map((name) => join(folder, name))
    const losses: string[] = []
    const [one, two] = folders.map((own, at) => run(t, own, { source, url: sinks[at]!.url, losses }))
    await until(async () => {
      await sent.more(200)
      return sinks.every(({ arrived }) => arrived.size > 0)
    })
    const sending = sent.more(1000)
    await kill(one!)
    await sending
    // What the killed run had read and not acknowledged is read by itself after its next start, or by the other one.
    const again = run(t, folders[0]!, { source, url: sinks[0]!.url, losses })
    await drained()
    await Promise.all([kill(again), kill(two!)])
    for (const [at, own] of folders.entries()) await finish(own, source, sinks[at]!.url)
    t.strictSame(missing(sent.ids, ...sinks), [])
    t.strictSame(losses, [], 'and no loss is reported')
    const both = [...sinks[0]!.arrived.keys()].filter((id) => sinks[1]!.arrived.has(id))
    t.ok(both.length < sent.ids.length / 2, `${both.length} of ${sent.ids.length} records reached both`)
  })
}

type Sink = Awaited<ReturnType<typeof receiver>>

const missing = (ids: readonly string[], ...sinks: readonly Sink[]): string[] =>
  ids.filter((id) => !sinks.some(({ arrived }) => arrived.has(`"${id}",200`)))

function senderOf(send: SourcePlace['send']) {
  const ids: string[] = []
  return {
    ids,
    async more(count: number): Promise<void> {
      for (let left = count; left > 0; left -= 100) {
        const some = Array.from({ length: Math.min(left, 100) }, (_, at) => `r${ids.length + at}`)
        ids.push(...some)
        await send(some.map((id) => recordOf(id)))
      }
    },
  }
}

interface Run {
  readonly source: object
  readonly url: string
  /** Gets the messages about losses. */
  readonly losses: string[]
}

/** Starts a run in a process of its own, with its state below `folder`. */
function run(t: Test, folder: string, { source, url, losses }: Run): ChildProcess {
  const file = join(folder, 'p.yaml')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    file,
    `source: ${JSON.stringify(source)}
dataset: http_requests
output_options: { output_type: csv, field_names: [RayID, EdgeResponseStatus] }
${LIMITS}destination_conf: ${url}
`,
  )
  const child = spawn(process.execPath, [...CHILD, file, join(folder, 'state')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  child.stdout.on('data', (said: Buffer) => {
    if (said.includes('deleted before')) losses.push(String(said))
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** Delivers what a killed run has left. */
async function finish(folder: string, source: object, url: string, ending?: object): Promise<void> {
  const { run, stop } = sourceRun(folder, ending ?? source, LIMITS, 'p', url)
  const running = run()
  if (ending === undefined) stop()
  await running
}
