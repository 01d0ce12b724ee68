import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import PQueue from 'p-queue'
import {
  EXPORT_KINDS,
  type Binding,
  type ExportKind,
  type NamedExport,
  type ScriptFormat,
} from '../../core/model/worker.js'
import { eachAtOnce } from '../../core/schedule/at-once.js'
import { exportedHandlers, isHandler } from '../code/exported.js'
import type { CodeReport } from '../code/analyse.js'
import { UploadRefused, type UploadIssue } from '../upload-errors.js'
import type { UploadedFile } from '../upload/form.js'
import { runtimeConfig, type RuntimeConfig } from './config.js'
import { failingScripts } from './shard.js'
import { StartFailed, startRuntime } from './process.js'
import { describeSource } from './sources.js'

const MAX_START_MS = 5000
/** Modules that are written at the same time. 900 writes that begin together hold the event loop. */
const WRITE_CONCURRENCY = 8
const BASELINE_RUNS = 3
const EMPTY = 'export default { fetch() {} }'
const FUTURE = '2999-01-01'

const NO_HANDLERS = 'No event handlers were registered. This script does nothing.'

/** Code that is started once, before it is stored. */
export interface CodeToValidate {
  readonly format: ScriptFormat
  readonly main: UploadedFile
  readonly files: readonly UploadedFile[]
  readonly bindings: readonly Binding[]
  readonly compatibilityDate: string | undefined
  readonly compatibilityFlags: readonly string[]
  /** From reading the text. A service-worker script cannot be asked for its handlers. */
  readonly report: CodeReport
}

/** Lines that workerd logs about itself, for the people who build it; `NOSENTRY` is their mark. */
const RUNTIME_NOISE = /^\S+\.c\+\+:\d+: \w+: NOSENTRY\b/

export interface ValidatedCode {
  readonly report: CodeReport
  /** For the owner of the script. */
  readonly warnings: readonly string[]
}

interface DescribedExport {
  readonly name: string
  readonly kind: string
  readonly members: readonly string[]
}

/** Starts candidates in a separate process that ends after the check. */
export class Validator {
  readonly #binary: string
  readonly #folder: string
  readonly #queue = new PQueue({ concurrency: availableParallelism() })
  #number = 0
  #probe: Promise<{ newestDate: string | undefined; startMs: number }> | undefined

  constructor(binary: string, folder: string) {
    this.#binary = binary
    this.#folder = folder
  }

  /** Returns the newest compatibility date that the runtime accepts. */
  async newestDate(): Promise<string | undefined> {
    return (await this.#probed()).newestDate
  }

  /** Starts the code. Throws {@link UploadRefused} if it does not start or has no handlers. */
  async validate(code: CodeToValidate): Promise<ValidatedCode> {
    const { startMs: emptyMs, newestDate } = await this.#probed()
    return await this.#queue.add(async () => {
      const date = code.compatibilityDate
      const today = new Date().toISOString().slice(0, 10)
      if (date !== undefined && date > today)
        throw new UploadRefused([
          {
            kind: 'invalidScript',
            pointer: '/compatibility_date',
            message: `Can't set compatibility date in the future: "${date}". Today's date (UTC) is "${today}".`,
          },
        ])
      const isNewer = date !== undefined && newestDate !== undefined && date > newestDate
      const { startMs, exports, stderr } = await this.#start(code, newestDate)
      const described = exports && describedReport(exports)
      const report = described ?? code.report
      const warnings = stderr
        .split('\n')
        .map((line) => line.replace(/^service [^\s]+: /, '').trim())
        .filter((line) => line !== '' && !RUNTIME_NOISE.test(line))
      if (isNewer)
        warnings.push(
          `the runtime knows compatibility dates up to ${newestDate}; the script runs with that date instead of ${date}`,
        )
      if (doesNothing(code.format, report))
        throw new UploadRefused([{ kind: 'noHandlers', pointer: mainPointer(code.format), message: NO_HANDLERS }])
      return { report: { ...report, startup_time_ms: Math.max(0, Math.round(startMs - emptyMs)) }, warnings }
    })
  }

  async #start(
    code: CodeToValidate,
    newestDate: string | undefined,
  ): Promise<{ startMs: number; exports: DescribedExport[] | undefined; stderr: string }> {
    this.#number += 1
    const folder = join(this.#folder, `v${this.#number}`)
    const isModules = code.format === 'modules'
    const describe = {
      name: `edged-${randomBytes(8).toString('hex')}.js`,
      // A relative specifier, because module registries have different roots.
      source: describeSource(`./${code.main.name}`),
    }
    const config = candidateConfig(code, newestDate, isModules ? describe : { name: '', source: '' }, folder)
    try {
      await mkdir(join(folder, 'modules'), { recursive: true, mode: 0o700 })
      await eachAtOnce(code.files, WRITE_CONCURRENCY, async ({ bytes }, at) => {
        await writeFile(join(folder, 'modules', String(at)), bytes, { mode: 0o600 })
      })
      const process = await startRuntime({
        binary: this.#binary,
        config,
        folder: join(folder, 'g'),
        // Users cannot have experimental flags.
        experimental: false,
        timeoutMs: MAX_START_MS,
      })
      try {
        const exports = isModules ? await described(process.socket('candidate')) : undefined
        return { startMs: process.startMs, exports, stderr: process.warnings }
      } finally {
        process.kill()
        await process.ended
      }
    } catch (error) {
      if (!(error instanceof StartFailed)) throw error
      throw new UploadRefused([startIssue(error.text, mainPointer(code.format))])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async #probed(): Promise<{ newestDate: string | undefined; startMs: number }> {
    this.#probe ??= this.#measure()
    return await this.#probe
  }

  /** Measures the start of an empty Worker, and finds the newest date. */
  async #measure(): Promise<{ newestDate: string | undefined; startMs: number }> {
    const file: UploadedFile = {
      name: 'empty.js',
      part: 'empty.js',
      type: 'application/javascript+module',
      bytes: Buffer.from(EMPTY),
    }
    const code = { format: 'modules', main: file, files: [file], bindings: [], compatibilityFlags: [] } as const
    const report: CodeReport = { handlers: [], named: [], startup_time_ms: 0 }
    const times: number[] = []
    for (let run = 0; run < BASELINE_RUNS; run++) {
      const { startMs } = await this.#start({ ...code, compatibilityDate: undefined, report }, undefined)
      times.push(startMs)
    }
    const newestDate = await this.#start({ ...code, compatibilityDate: FUTURE, report }, undefined).then(
      () => undefined,
      (error: unknown) => /newest date supported by this server binary is "([0-9-]+)"/.exec(String(error))?.[1],
    )
    return { newestDate, startMs: times.toSorted((a, b) => a - b)[1] ?? 0 }
  }
}

/** Returns whether nothing ever calls a script that starts. Listeners whose events are not literals are unknown. */
function doesNothing(
  format: CodeToValidate['format'],
  { handlers, named }: Pick<CodeReport, 'handlers' | 'named'>,
): boolean {
  if (format === 'service-worker') return handlers.length > 0 && !handlers.some(isHandler)
  return handlers.length === 0 && named.every((one) => one.kind === 'object' && one.handlers.length === 0)
}

/** Returns the configuration that starts one script alone. */
function candidateConfig(
  code: CodeToValidate,
  newestDate: string | undefined,
  describe: { name: string; source: string },
  folder: string,
): RuntimeConfig {
  const { format, main, files, bindings, compatibilityDate, compatibilityFlags } = code
  const version = {
    id: 'candidate',
    script: 'candidate',
    number: 1,
    created_on: '',
    author: { id: '' },
    source: '',
    annotations: {},
    format,
    main: main.name,
    modules: files.map(({ name, part, type, bytes }, at) => ({
      name,
      part,
      type,
      blob: String(at),
      size: bytes.length,
    })),
    etag: '',
    handlers: [],
    named: [],
    startup_time_ms: 0,
    bindings,
    compatibility_flags: compatibilityFlags,
    usage_model: '',
    metadata: {},
    ...(compatibilityDate !== undefined && { compatibility_date: compatibilityDate }),
  }
  const script = {
    name: 'candidate',
    primary: 'candidate',
    versions: [{ version, bindings }],
    exported: [],
    namespaces: [],
    traced: false,
    tailConsumers: [],
  }
  // Nothing listens at these paths, because a script cannot do anything while it starts.
  const paths = { resources: join(folder, 'none'), outbound: join(folder, 'none'), objects: undefined }
  return runtimeConfig({ scripts: [script], databases: { here: false }, paths, newestDate, describe })
}

/** Returns the member of the metadata that names the main module. */
const mainPointer = (format: ScriptFormat): string => (format === 'service-worker' ? '/body_part' : '/main_module')

function startIssue(text: string, pointer: string): UploadIssue {
  if (text === '')
    return {
      kind: 'invalidScript',
      pointer,
      message: `Script startup exceeded CPU time limit: it took more than ${MAX_START_MS / 1000} s.`,
    }
  const message = failingScripts(text).get('candidate') ?? text.trim()
  if (/compatibility flag/.test(message)) return { kind: 'invalidScript', pointer: '/compatibility_flags', message }
  // The runtime itself rejects a service worker without listeners.
  return { kind: message.startsWith(NO_HANDLERS) ? 'noHandlers' : 'invalidScript', pointer, message }
}

async function described(socketPath: string): Promise<DescribedExport[]> {
  const text = await new Promise<string>((resolve, reject) => {
    const sent = request({ socketPath, path: '/', agent: false, timeout: MAX_START_MS }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
      response.on('error', reject)
    })
    sent.on('timeout', () => sent.destroy(new StartFailed('')))
    sent.on('error', reject)
    sent.end()
  })
  return JSON.parse(text) as DescribedExport[]
}

/**
 * Returns the exports with their kinds, in the form that versions store. Throws {@link UploadRefused} for a wrong type.
 */
function describedReport(
  exports: readonly DescribedExport[],
): Omit<CodeReport, 'startup_time_ms'> & { startup_time_ms: 0 } {
  const named: NamedExport[] = []
  let handlers: readonly string[] = []
  for (const { name, kind, members } of exports) {
    const known = EXPORT_KINDS.find((one) => one === kind)
    if (!known && name === 'default' && kind === 'value')
      throw new UploadRefused([
        {
          kind: 'invalidScript',
          pointer: '/main_module',
          message:
            "Uncaught TypeError: Incorrect type for map entry 'default': the provided value is not of type 'function or ExportedHandler'.",
        },
      ])
    if (!known) continue
    const called = exportedHandlers(known, members)
    if (name === 'default') handlers = called
    else named.push({ name, kind: known satisfies ExportKind, handlers: called })
  }
  return { handlers, named, startup_time_ms: 0 }
}
