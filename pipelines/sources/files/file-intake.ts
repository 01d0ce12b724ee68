/**
 * Reads files for several outputs once into a spool in which each output has its own position. The state maps a
 * position in the files to a position of the spool, so after a crash no record is read into the spool twice.
 */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FileSpool, type FileSpoolOptions } from './file-spool.js'
import type { Input } from '../intake/input.js'
import { commitPatiently, COMMIT_BYTES } from '../intake/record-intake.js'
import { spoolInput, SPOOL_FOLDER, type Take, type TakingDeps } from '../intake/spool-input.js'

const FOLDER = 'input'
/**
 * Interval in which the position in the files is stored. After a crash, records of the spool beyond the stored position
 * are read again and skipped.
 */
const SAVE_MS = 1000

/** Reads files into a spool. A run that does not continue an earlier one removes the records of that one. */
export async function fileIntake(options: Omit<FileSpoolOptions, keyof TakingDeps>, deps: TakingDeps): Promise<Input> {
  const folder = join(deps.folder, FOLDER)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const files = await FileSpool.open({ ...options, ...deps, folder })
  try {
    if (!options.resume) {
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder, { mode: 0o700 })
      await rm(join(deps.folder, SPOOL_FOLDER), { recursive: true, force: true })
    }
    const input = await spoolInput(deps, { endless: options.follow, take: taking(files, options.follow, deps) })
    return {
      id: input.id,
      spool: input.spool,
      cursor: input.cursor,
      routes: input.routes,
      get full() {
        return input.full ?? false
      },
      over: (position) => input.over(position),
      endless: input.endless,
      stop: () => input.stop(),
      failed: input.failed,
      finished: async () => await files.finished(),
      async close() {
        await input.close()
        await files.close()
      },
    }
  } catch (error) {
    await files.close()
    throw error
  }
}

const taking =
  (files: FileSpool, follow: boolean, { clock }: TakingDeps): Take =>
  async (open, signal, spool) => {
    const { next, notes } = files.state
    const at = notes?.['spool']
    let position = next
    let skip = at === undefined ? 0 : Math.max(0, spool.end - at)
    const save = async () => await files.save({ next: position, notes: { spool: spool.end } })
    if (at === undefined) await save()
    let savedAt = clock.monotonic()
    const writer = open()
    const commit = async () => {
      if (writer.count > 0) await commitPatiently(writer, clock, signal)
      if (skip > 0 || clock.monotonic() - savedAt < SAVE_MS) return
      await save()
      savedAt = clock.monotonic()
    }
    if (follow) signal.addEventListener('abort', () => files.stop(), { once: true })
    for (;;) {
      if (signal.aborted && !follow) return
      const frame = await files.frame(position)
      if (frame === undefined) {
        await commit()
        if (files.over()) break
        // A stopped run reads the current content of the files to its end.
        await files.waitFor(position, signal).catch(() => {})
        continue
      }
      for (let index = Math.max(0, position - frame.first); index < frame.count; index++) {
        if (skip > 0) skip--
        else writer.addScanned(frame.record(index))
        position = frame.first + index + 1
        if (writer.size >= COMMIT_BYTES) await commit()
      }
    }
    await save()
  }
