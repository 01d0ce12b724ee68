import { open } from 'node:fs/promises'
import type { RequestRecord } from '../../../core/model/requests/request-record.js'
import type { Clock } from '../../../core/clock.js'
import { readAt } from '../../../disk/positioned-io.js'
import { segmentsIn, wholeLines, type Segment } from './segments.js'
import { recordIn } from './stored-requests.js'

/** New records are looked for this often. */
const PAUSE_MS = 250
/** Bytes of new records that are read at once. */
const MAX_READ = 1024 * 1024
const LINE_FEED = 0x0a

/**
 * Yields the records of a folder that are written from now on, as all processes write them. Ends when the signal
 * aborts.
 */
export async function* followed(folder: string, clock: Clock, signal: AbortSignal): AsyncGenerator<RequestRecord[]> {
  const read = new Map<string, number>()
  for (const { name, path } of await openSegments(folder)) read.set(name, await sizeOf(path))
  while (!signal.aborted) {
    await clock.sleep(PAUSE_MS, signal).catch(() => undefined)
    if (signal.aborted) return
    const segments = await openSegments(folder)
    for (const { name, path } of segments) {
      const bytes = await newBytes(path, read.get(name) ?? 0)
      read.set(name, (read.get(name) ?? 0) + bytes.length)
      const records = recordsIn(bytes)
      if (records.length > 0) yield records
    }
    const names = new Set(segments.map(({ name }) => name))
    for (const name of read.keys()) if (!names.has(name)) read.delete(name)
  }
}

const openSegments = async (folder: string): Promise<Segment[]> =>
  (await segmentsIn(folder)).filter(({ closed }) => closed === undefined)

async function sizeOf(path: string): Promise<number> {
  const file = await open(path).catch(() => undefined)
  if (!file) return 0
  try {
    return (await file.stat()).size
  } finally {
    await file.close()
  }
}

/** Returns the whole lines after a place. None if the file is gone. */
async function newBytes(path: string, from: number): Promise<Buffer> {
  const file = await open(path).catch(() => undefined)
  if (!file) return Buffer.alloc(0)
  try {
    const { size } = await file.stat()
    return wholeLines(await readAt(file, from, Math.min(size, from + MAX_READ)))
  } finally {
    await file.close()
  }
}

function recordsIn(bytes: Buffer): RequestRecord[] {
  const records: RequestRecord[] = []
  for (let from = 0; from < bytes.length;) {
    const to = bytes.indexOf(LINE_FEED, from)
    const record = recordIn(bytes.subarray(from, to))
    if (record) records.push(record)
    from = to + 1
  }
  return records
}
