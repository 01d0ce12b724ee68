import type { DiskOperation, DiskOwner, DiskOwnerPort } from '../../edge/cache/files/owner.js'
import type { CacheFileReport, DaemonChannel } from './protocol.js'

const REPORT_MS = 50

/** The owner of the cache files, which is in the daemon, for a process that reads and writes them. */
export class RemoteDiskOwner implements DiskOwnerPort {
  readonly #daemon: () => DaemonChannel
  #reports: CacheFileReport[] = []
  #isWaiting = false

  constructor(daemon: () => DaemonChannel) {
    this.#daemon = daemon
  }

  has(): undefined {
    return undefined
  }

  async reserve(bytes: number, mayWait: boolean): Promise<boolean> {
    return await this.#daemon().call('reserveCacheFile', { bytes, mayWait })
  }

  settle(bytes: number, name: string | undefined, isReserve: boolean): void {
    this.#report(['settle', bytes, name, isReserve])
  }

  hit(name: string): void {
    this.#report(['hit', name])
  }

  removed(name: string, reason: 'purge' | 'invalid'): void {
    this.#report(['removed', name, reason])
  }

  failed(operation: DiskOperation, error: unknown): void {
    const { code = '', message } = error as NodeJS.ErrnoException
    this.#report(['failed', operation, code, message])
  }

  #report(report: CacheFileReport): void {
    this.#reports.push(report)
    if (this.#isWaiting) return
    this.#isWaiting = true
    setTimeout(() => {
      this.#isWaiting = false
      this.#daemon().post('cacheFiles', this.#reports)
      this.#reports = []
    }, REPORT_MS).unref()
  }
}

/** The access of one process to the cache files, with its counts. */
export class CacheFilesOfProcess {
  readonly #owner: DiskOwner | undefined
  #reserved = 0

  constructor(owner: DiskOwner | undefined) {
    this.#owner = owner
  }

  async reserve(bytes: number, mayWait: boolean): Promise<boolean> {
    const isReserved = (await this.#owner?.reserve(bytes, mayWait)) ?? false
    if (isReserved) this.#reserved += bytes
    return isReserved
  }

  apply(reports: readonly CacheFileReport[]): void {
    for (const report of reports) this.#apply(report)
  }

  /** The process has ended. */
  async ended(pid: number): Promise<void> {
    const reserved = this.#reserved
    this.#reserved = 0
    await this.#owner?.ended(pid, reserved)
  }

  #apply(report: CacheFileReport): void {
    const owner = this.#owner
    switch (report[0]) {
      case 'settle':
        this.#reserved -= report[1]
        owner?.settle(report[1], report[2], report[3])
        break
      case 'hit':
        owner?.hit(report[1])
        break
      case 'removed':
        owner?.removed(report[1], report[2])
        break
      case 'failed':
        owner?.failed(report[1], Object.assign(new Error(report[3]), { code: report[2] }))
    }
  }
}
