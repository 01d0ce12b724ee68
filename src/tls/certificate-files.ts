import { watch, type FSWatcher } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf } from '../core/errors.js'
import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import { CertificateTable, loadCertificate, type Certificate, type CertificateFiles } from './certificates.js'

/**
 * Time that files must be unchanged before they are loaded. Certbot and others replace them one by one. Also the
 * minimum time between two comparisons. Other files of the folder may change all the time.
 */
const QUIET_MS = 500
/** Files are also compared this often, for file systems without events. */
const POLL_MS = 10_000

export interface CertificateFilesDeps {
  readonly clock: Clock
  readonly log: Log
}

/**
 * The certificates of the configuration, loaded again when a file changes. `table` is replaced as a whole. Handshakes
 * in progress and open connections are not affected. A pair that cannot be loaded is logged, and the last good one
 * stays.
 */
export class WatchedCertificates {
  table: CertificateTable
  readonly #files: readonly CertificateFiles[]
  readonly #loaded: Certificate[]
  readonly #deps: CertificateFilesDeps
  readonly #stop = new AbortController()
  readonly #watchers: FSWatcher[] = []
  #marks: string
  /** A file of a folder has changed since the last comparison began. */
  #changed = false
  #wake: () => void = () => undefined

  private constructor(
    files: readonly CertificateFiles[],
    loaded: Certificate[],
    marks: string,
    deps: CertificateFilesDeps,
  ) {
    this.#files = files
    this.#loaded = loaded
    this.#marks = marks
    this.#deps = deps
    this.table = new CertificateTable(loaded)
  }

  /** Loads all files and starts watching them. Rejects with the first file that cannot be used. */
  static async open(files: readonly CertificateFiles[], deps: CertificateFilesDeps): Promise<WatchedCertificates> {
    const marks = await marksOf(files)
    const loaded = files.map(loadCertificate)
    const watched = new WatchedCertificates(files, loaded, marks, deps)
    for (const { source, notAfter } of loaded) {
      if (notAfter < deps.clock.now())
        deps.log.warn({ event: 'certificate_expired', file: source, since: new Date(notAfter).toISOString() })
    }
    watched.#watch()
    return watched
  }

  close(): void {
    this.#stop.abort()
    for (const watcher of this.#watchers) watcher.close()
  }

  /** Watches the folders, not the files, because tools rename and relink files. */
  #watch(): void {
    const folders = new Set(this.#files.flatMap(({ cert_file: cert, key_file: key }) => [dirname(cert), dirname(key)]))
    for (const folder of folders) {
      try {
        const watcher = watch(folder, { persistent: false }, () => {
          this.#changed = true
          this.#wake()
        })
        watcher.on('error', () => watcher.close())
        this.#watchers.push(watcher)
      } catch {
        // Without events the files are still compared every POLL_MS.
      }
    }
    void this.#follow()
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#event(signal)
      if (signal.aborted) return
      this.#changed = false
      let marks = await marksOf(this.#files)
      if (marks === this.#marks) {
        await this.#pause(QUIET_MS, signal)
        continue
      }
      for (let before = ''; before !== marks && !signal.aborted; marks = await marksOf(this.#files)) {
        before = marks
        await this.#pause(QUIET_MS, signal)
      }
      if (signal.aborted) return
      this.#marks = marks
      await this.#reload()
    }
  }

  /** Resolves after a file event since the last comparison, or after {@link POLL_MS}. */
  async #event(signal: AbortSignal): Promise<void> {
    if (this.#changed) return
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    await this.#pause(POLL_MS, AbortSignal.any([signal, woken.signal]))
    this.#wake = () => undefined
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#deps.clock.sleep(ms, signal).catch(() => undefined)
  }

  async #reload(): Promise<void> {
    const { log } = this.#deps
    for (const [index, files] of this.#files.entries()) {
      try {
        this.#loaded[index] = loadCertificate(files)
      } catch (error) {
        const reason = messageOf(error)
        log.error(
          { event: 'certificate_rejected', file: files.cert_file, reason },
          'the last valid certificate stays in use',
        )
      }
    }
    this.table = new CertificateTable(this.#loaded)
    log.info({ event: 'certificates_loaded', files: this.#files.length })
  }
}

/** Returns a text that changes when any of the files is replaced. */
async function marksOf(files: readonly CertificateFiles[]): Promise<string> {
  const marks = await Promise.all(
    files
      .flatMap(({ cert_file: cert, key_file: key }) => [cert, key])
      .map((file) => stat(file).then(markOf, () => '-')),
  )
  return marks.join(' ')
}

const markOf = ({
  ino,
  size,
  mtimeMs,
  ctimeMs,
}: {
  ino: number
  size: number
  mtimeMs: number
  ctimeMs: number
}): string => `${ino}:${size}:${mtimeMs}:${ctimeMs}`
