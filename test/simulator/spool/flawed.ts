import { SpoolFull, type Cursor, type FrameWriter, type Spool } from '../../../pipelines/logpush/spool/types.js'
import type { Sink } from '../../../src/core/sink.js'
import type { Disk } from '../../../src/disk/durable-write.js'

/** Of so many reads one returns a wrong byte. */
const READS = 5

/** What makes the ports of a spool and its jobs worse than they are, to prove that a run notices. */
export interface SpoolFlaws {
  readonly disk?: (disk: Disk) => Disk
  readonly writer?: (writer: FrameWriter) => FrameWriter
  readonly cursor?: (cursor: Cursor) => Cursor
  readonly sink?: (sink: Sink) => Sink
  /** Records that are dropped at the limit are not counted. */
  readonly uncounted?: boolean
}

type File = Awaited<ReturnType<Disk['open']>>

const isFolder = (file: File): boolean => !('writev' in file)

/** Changes the files that a disk opens. */
const opened =
  (change: (file: File) => object) =>
  (disk: Disk): Disk => ({
    ...disk,
    open: async (path, flags) => {
      const file = await disk.open(path, flags)
      return Object.assign(file, change(file))
    },
  })

const nothing = async () => {}

/** Ways in which the ports of a spool can break their promises, for one run. */
export const FLAWED = {
  /** Does not sync the content of files. */
  unsynced: () => ({ disk: opened((file) => (isFolder(file) ? {} : { sync: nothing, datasync: nothing })) }),
  /** Does not sync the names in folders. */
  unnamed: () => ({ disk: opened((file) => (isFolder(file) ? { sync: nothing } : {})) }),
  /** Sometimes returns a byte that was not written. */
  decayed: () => {
    let reads = 0
    const disk = opened((file) => {
      if (isFolder(file)) return {}
      const read = file.read.bind(file) as (into: Buffer, ...rest: number[]) => Promise<{ bytesRead: number }>
      return {
        read: async (into: Buffer, offset: number, length: number, at: number) => {
          const result = await read(into, offset, length, at)
          if (++reads % READS === 0 && result.bytesRead > 0) into[offset + (result.bytesRead >> 1)]! ^= 1
          return result
        },
      }
    })
    return { disk }
  },
  /** Confirms records that the spool has rejected. */
  confirming: () => ({
    writer: (writer: FrameWriter) =>
      Object.assign(Object.create(writer) as FrameWriter, {
        add: (bytes: Uint8Array) => writer.add(bytes),
        commit: async () => {
          try {
            await writer.commit()
          } catch (error) {
            if (!(error instanceof SpoolFull)) throw error
          }
        },
      }),
  }),
  /** Moves the cursor behind batches without a response. */
  hasty: () => cursor((state) => ({ next: state.batches?.at(-1)?.[0] ?? state.next })),
  /** Stores no batches in flight. */
  nameless: () => cursor(({ next }) => ({ next })),
  /** Takes a batch as delivered before the receiver has responded. */
  early: () => ({
    sink: (sink: Sink): Sink => ({
      ...sink,
      write: async (batch, signal) => {
        const bytes = await batch.body.bytes()
        const body = { bytes: async () => await Promise.resolve(bytes) }
        void sink.write({ ...batch, body } as typeof batch, signal).catch(nothing)
      },
    }),
  }),
  /** A batch with the same last record has the same name. */
  uncountedName: () => {
    const names = new Map<string, string>()
    return {
      sink: (sink: Sink): Sink => ({
        ...sink,
        write: async (batch, signal) => {
          const bytes = await batch.body.bytes()
          const last = Buffer.from(bytes).toString().trimEnd().split('\n').at(-1)!
          const name = names.get(last) ?? batch.name
          names.set(last, name)
          const body = { bytes: async () => await Promise.resolve(bytes) }
          await sink.write({ ...batch, name, body } as typeof batch, signal)
        },
      }),
    }
  },
  /** Does not count records that were dropped at the limit. */
  uncounted: () => ({ uncounted: true }),
} satisfies Record<string, () => SpoolFlaws>

/** Changes the stored state of a cursor, and returns the state that should be stored. */
function cursor(stored: (state: Cursor['state']) => Cursor['state']) {
  return {
    cursor: (cursor: Cursor): Cursor => {
      let shown = cursor.state
      return {
        get state() {
          return shown
        },
        save: async (state) => {
          await cursor.save(stored(state))
          shown = state
        },
        remove: async () => await cursor.remove(),
      }
    },
  }
}

/** The spool with the writers and cursors of the flaws. */
export function flawedSpool(spool: Spool, { writer }: SpoolFlaws): Pick<Spool, 'writer'> {
  return writer === undefined ? spool : { writer: (options) => writer(spool.writer(options)) }
}
