import { setMaxListeners } from 'node:events'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { DAEMON } from '../../../src/core/scope.js'
import type { Clock } from '../../../src/core/clock.js'
import type { Log } from '../../../src/core/log.js'
import { recordCheck, type Dataset } from '../../records/index.js'
import type { LineFormat } from '../../records/text/index.js'
import { SpoolFull, SpoolLimitReached, type Cursor, type FrameWriter, type Spool } from '../../logpush/spool/types.js'
import { openSpools } from '../../logpush/spool/index.js'
import type { Input } from './input.js'
import type { RunStats } from './run-stats.js'

/** Dependencies of every source that writes records to a spool. */
export interface TakingDeps {
  readonly dataset: Dataset
  /** Format of lines and messages. Undefined for JSON. */
  readonly lines?: LineFormat | undefined
  /** Existing folder for the spool. */
  readonly folder: string
  /** Bytes that the spool may have. */
  readonly spoolBytes: number
  /** Names of routes, each with its own position in the spool. If undefined, there is one position. */
  readonly routes?: readonly string[] | undefined
  /** Called when the source begins to wait for a full spool, with the name of the rearmost cursor. */
  readonly waiting?: (message: string) => void
  /** Returns the free bytes of the disk that has a folder. Asks the system by default. */
  readonly free?: (folder: string) => Promise<number>
  readonly stats: RunStats
  readonly clock: Clock
  readonly log: Log
}

/** Work of a source. It adds records until its input ends or the signal aborts. */
export type Take = (writer: () => FrameWriter, signal: AbortSignal, spool: Pick<Spool, 'end'>) => Promise<void>

/**
 * Bytes left free on the disk for locks and cursors. Otherwise a run that starts with a disk full of its own records
 * could not deliver them.
 */
const RESERVED_BYTES = 1024 * 1024

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** Folder of the spool below the folder of the run. */
export const SPOOL_FOLDER = 'spool'
const CURSOR = 'run'
/** Prefix of the cursor of a route, before its name. */
const ROUTE = 'route-'

/**
 * Opens an input with a spool, which stores records until they are delivered. Undelivered records of an earlier run
 * come first.
 */
export async function spoolInput(
  { dataset, folder, spoolBytes, routes, waiting, free = freeBytes, clock, log }: TakingDeps,
  { endless, take }: { endless: boolean; take: Take },
): Promise<Input> {
  const spools = await openSpools(join(folder, SPOOL_FOLDER), { clock, log, limits: { bytes: spoolBytes } })
  const spool = await spools.open(dataset.name, DAEMON)
  const names = routes?.map((route) => ROUTE + route) ?? [CURSOR]
  const cursors = await openCursors(spool, names, log)
  const check = recordCheck(dataset)
  const stopping = new AbortController()
  // Each connection of a source waits with it.
  setMaxListeners(0, stopping.signal)
  let ended = false
  const behind = () =>
    names.reduce((last, name) => (cursors.get(name)!.state.next < cursors.get(last)!.state.next ? name : last))
  const fullness = new Fullness((error) =>
    waiting?.(
      error instanceof SpoolLimitReached ? fullMessage(behind(), spoolBytes) : `reading waits: ${error.message}`,
    ),
  )
  const room = async (bytes: number) => {
    if ((await free(folder)) < bytes + RESERVED_BYTES)
      throw new SpoolFull(`the disk has less than ${RESERVED_BYTES} bytes left`)
  }
  const taking = take(() => fullness.watch(spool.writer({ check }), room), stopping.signal, spool).then(
    () => void (ended = true),
    (error: unknown) => {
      if (!stopping.signal.aborted) throw error
      ended = true
    },
  )
  const end = taking.catch(() => undefined)
  const failed = taking.then(async () => await new Promise<never>(() => {}))
  // The runner of the pipeline gets the error. Before it listens, the error must not count as unhandled.
  failed.catch(() => undefined)
  return {
    id: spools.id,
    spool: {
      get end() {
        return spool.end
      },
      frame: async (position) => await spool.frame(position),
      cached: (position) => spool.cached?.(position),
      async waitFor(position, signal) {
        if (ended) return
        await Promise.race([spool.waitFor(position, signal), end])
      },
    },
    cursor: cursors.get(names[0]!)!,
    routes: routes && new Map(routes.map((route) => [route, cursors.get(ROUTE + route)!])),
    get full() {
      return fullness.full
    },
    endless,
    over: (position) => ended && position >= spool.end,
    stop: () => stopping.abort(),
    failed,
    async close() {
      stopping.abort()
      await end
      await spools.close()
    },
  }
}

const fullMessage = (cursor: string, bytes: number): string =>
  `reading waits: spool_bytes, ${bytes}, are full of records that are not delivered` +
  (cursor === CURSOR ? '' : `; route ${cursor.slice(ROUTE.length)} is behind most`)

/**
 * Opens cursors. A new cursor among others begins at the rearmost one, so nothing is lost if outputs are renamed.
 * Cursors of removed outputs are deleted.
 */
async function openCursors(spool: Spool, names: readonly string[], log: Log): Promise<Map<string, Cursor>> {
  const found = new Map<string, Cursor>()
  for (const name of spool.cursors.slice()) found.set(name, await spool.cursor(name))
  const begin = Math.min(spool.end, ...[...found.values()].map(({ state }) => state.next))
  const cursors = new Map<string, Cursor>()
  for (const name of names) {
    const known = found.get(name)
    const cursor = known ?? (await spool.cursor(name))
    if (known === undefined && cursor.state.next > begin) await cursor.save({ next: begin })
    cursors.set(name, cursor)
  }
  for (const [name, cursor] of found) {
    if (cursors.has(name)) continue
    const left = spool.end - cursor.state.next
    if (left > 0) log.warn({ event: 'pipeline_output_removed', cursor: name, records: left })
    await cursor.remove()
  }
  return cursors
}

/** Notes whether writers are rejected because of a full spool, and reports the begin of such a time. */
class Fullness {
  full = false
  readonly #begins: (error: SpoolFull) => void

  constructor(begins: (error: SpoolFull) => void) {
    this.#begins = begins
  }

  /** `room` rejects with SpoolFull if the disk does not have that many bytes to spare. */
  watch(writer: FrameWriter, room: (bytes: number) => Promise<void>): FrameWriter {
    const commit = writer.commit.bind(writer)
    writer.commit = async () => {
      try {
        await room(writer.size)
        await commit()
        this.full = false
      } catch (error) {
        if (error instanceof SpoolFull && !this.full) {
          this.full = true
          this.#begins(error)
        }
        throw error
      }
    }
    return writer
  }
}
