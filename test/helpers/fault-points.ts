import type { FileHandle } from 'node:fs/promises'
import type { Disk } from '../../src/disk/durable-write.js'
import type { FaultyDisk } from './faulty-disk.js'

/** Operations that fail after the first one of a fault that lasts for a while. */
const WHILE = 12

/** What happens at one operation: it fails, it is done and reported as failed, or the process is killed before it. */
export const FAULTS = ['fails', 'fails for a while', 'is done but fails', 'is not reached'] as const
export type Fault = (typeof FAULTS)[number]

const CODES: Readonly<Record<string, string>> = { open: 'EMFILE', writev: 'ENOSPC', writeFile: 'ENOSPC' }
const OF_DISK = ['open', 'rename', 'rm', 'mkdir'] as const
const OF_FILE: ReadonlySet<string | symbol> = new Set(['datasync', 'sync', 'writev', 'writeFile', 'truncate'])

/** A disk that counts its operations and has a fault at one of them. */
export class FaultPoints {
  /** Names of the operations so far. */
  readonly operations: string[] = []
  readonly disk: Disk
  readonly #faults: FaultyDisk
  readonly #at: number
  readonly #fault: Fault

  /** `at`: index of the operation with the fault; -1: no operation. */
  constructor(faults: FaultyDisk, at: number, fault: Fault) {
    this.#faults = faults
    this.#at = at
    this.#fault = fault
    const disk: Record<string, unknown> = { ...faults.disk }
    for (const name of OF_DISK) {
      const work = faults.disk[name] as (...args: unknown[]) => Promise<unknown>
      disk[name] = async (...args: unknown[]) => {
        const result = await this.#run(name, async () => await work(...args))
        return name === 'open' ? this.#file(result as FileHandle) : result
      }
    }
    this.disk = disk as unknown as Disk
  }

  #file(file: FileHandle): FileHandle {
    return new Proxy(file, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>
        if (!OF_FILE.has(name)) return method
        return async (...args: unknown[]) => await this.#run(String(name), async () => await method(...args))
      },
    })
  }

  async #run(name: string, work: () => Promise<unknown>): Promise<unknown> {
    const index = this.operations.push(name) - 1
    const last = this.#at + (this.#at >= 0 && this.#fault === 'fails for a while' ? WHILE : 0)
    if (index < this.#at || index > last) return await work()
    if (this.#fault === 'is not reached') this.#faults.stop()
    if (!this.#fault.startsWith('fails')) {
      const result = await work()
      if (name === 'open') await (result as FileHandle).close()
    } else if (name.endsWith('sync')) await this.#failedSync(work)
    throw Object.assign(new Error('injected by the test'), { code: CODES[name] ?? 'EIO' })
  }

  /** Bytes whose sync failed are not written by the next sync either. */
  async #failedSync(work: () => Promise<unknown>): Promise<void> {
    this.#faults.failSyncs = 'EIO'
    await work().catch(() => undefined)
    this.#faults.failSyncs = undefined
  }
}
