import { mkdir, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.js'
import { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import type { RecordTransform, TransformedRecords, TransformModule } from '../../core/extension/record-transform.js'
import { freshFolder } from '../runtime/fresh-folder.js'
import { processUsage, startRuntime, StartFailed, type RuntimeProcess } from '../runtime/process.js'
import { reasonOf } from './check.js'
import { RECORDS_SOCKET, transformConfig } from './config.js'
import { Outcomes } from './outcomes.js'

/** Time that a module has for the records of one call. */
const MAX_CALL_MS = 1000
const MAX_START_MS = 15_000
/** Interval in which the memory of a busy process is read. */
const WATCH_MS = 50
const MAX_MEMORY_BYTES = 384 * 2 ** 20
const MAX_RESPONSE_BYTES = 64 * 2 ** 20
/**
 * A process that used less of its time was probably held up by the machine. Its records get a second attempt. Clock
 * ticks of Linux are 10 ms.
 */
const BUSY_TICKS = 60
const ATTEMPTS = 2

export interface TransformDeps {
  /** Path of the workerd binary. */
  readonly binary: string
  /** Names the place of the state of the output. A process that a killed run left behind is recognized by it. */
  readonly key: string
  readonly clock: Clock
  /** Called once, with the end of the transform. */
  readonly closed?: () => void
}

/** The response of a module, or the reason why there is none. */
type Exchange =
  | { readonly response: Uint8Array }
  /** `again` means that the module may not be the cause. */
  | { readonly reason: string; readonly again: boolean }

/**
 * Runs a module in a process of workerd of its own, which starts with the first records. A module that exceeds a limit
 * ends with its process, and the next records get a new one.
 */
export class WorkerTransform implements RecordTransform {
  restarts = 0
  busyMs = 0
  #module: TransformModule
  readonly #deps: TransformDeps
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #loop = new EventLoopYield()
  #folder: Promise<string> | undefined
  #process: Promise<RuntimeProcess> | undefined
  #generation = 0
  #turn: Promise<unknown> = Promise.resolve()
  #replaced: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(module: TransformModule, deps: TransformDeps) {
    this.#module = module
    this.#deps = deps
  }

  get module(): TransformModule {
    return this.#module
  }

  async run(text: Uint8Array, ends: readonly number[]): Promise<TransformedRecords> {
    return await this.#inTurn(async () => {
      const begin = this.#deps.clock.monotonic()
      try {
        return await this.#outcomes(text, ends)
      } finally {
        this.busyMs += this.#deps.clock.monotonic() - begin
      }
    })
  }

  /** Runs another module from the next call on. Rejects, and keeps the module, if the other one cannot run. */
  async replace(module: TransformModule): Promise<void> {
    const before = this.#replaced
    const replaced = (async () => {
      await before.catch(() => {})
      const process = await this.#launch(module)
      const fault = await this.#fault(process)
      if (fault !== '') {
        process.kill()
        throw new Error(`transform: ${module.main}: ${fault}`)
      }
      await this.#inTurn(async () => {
        const last = await this.#process?.catch(() => undefined)
        last?.kill()
        if (this.#isClosed) return process.kill()
        this.#module = module
        this.#use(Promise.resolve(process))
      })
    })()
    this.#replaced = replaced
    await replaced
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#replaced.catch(() => {})
    this.#deps.closed?.()
    const process = await this.#process?.catch(() => undefined)
    process?.kill()
    this.#agent.destroy()
    await this.#turn.catch(() => {})
    await process?.ended
    const folder = await this.#folder?.catch(() => undefined)
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#turn
    const done = (async () => {
      await before.catch(() => {})
      return await work()
    })()
    this.#turn = done
    return await done
  }

  async #outcomes(text: Uint8Array, ends: readonly number[]): Promise<Outcomes> {
    const outcomes = new Outcomes()
    while (outcomes.count < ends.length) {
      const { count } = outcomes
      const exchange = await this.#exchange(text.subarray(count === 0 ? 0 : ends[count - 1]))
      const added = 'response' in exchange ? await outcomes.add(exchange.response, ends.length - count, this.#loop) : 0
      if (added > 0) continue
      const reason = 'response' in exchange ? 'the module responded with text that is not an outcome' : exchange.reason
      while (outcomes.count < ends.length) outcomes.reject(reason)
    }
    return outcomes
  }

  async #exchange(body: Uint8Array): Promise<Exchange> {
    for (let attempt = 1; ; attempt++) {
      const process = await this.#ready()
      const exchange = await this.#attempt(process, body)
      if ('response' in exchange || !exchange.again || attempt >= ATTEMPTS) return exchange
    }
  }

  /** Returns the running process, or a new one. */
  async #ready(): Promise<RuntimeProcess> {
    if (this.#isClosed) throw new Error('the transform was closed')
    if (this.#process === undefined) {
      if (this.#generation > 0) this.restarts++
      this.#use(this.#launch(this.#module))
    }
    return await this.#process!
  }

  /** Makes a process the running one until it ends. */
  #use(starting: Promise<RuntimeProcess>): void {
    this.#process = starting
    const forget = () => {
      if (this.#process === starting) this.#process = undefined
    }
    starting.then(async ({ exited }) => await exited).then(forget, forget)
  }

  async #launch(module: TransformModule): Promise<RuntimeProcess> {
    this.#folder ??= freshFolder(this.#deps.key)
    const root = await this.#folder
    await mkdir(root, { recursive: true, mode: 0o700 })
    try {
      return await startRuntime({
        binary: this.#deps.binary,
        config: transformConfig(module),
        folder: join(root, String(++this.#generation)),
        experimental: false,
        timeoutMs: MAX_START_MS,
      })
    } catch (error) {
      if (!(error instanceof StartFailed)) throw error
      const reason = error.text === '' ? `${module.main}: ${error.message}` : reasonOf(error.text, module)
      throw new Error(`transform: ${reason}`, { cause: error })
    }
  }

  /** Resolves with the reason why a running module cannot be a transform, or an empty text. */
  async #fault(process: RuntimeProcess): Promise<string> {
    const exchange = await this.#attempt(process, new Uint8Array(0))
    return 'response' in exchange ? Buffer.from(exchange.response).toString() : exchange.reason
  }

  /** Calls the module once, within the limits of time and memory. */
  async #attempt(process: RuntimeProcess, body: Uint8Array): Promise<Exchange> {
    const over = new AbortController()
    const { signal } = over
    let exceeded: Exchange | undefined
    const watched = this.#watched(process, signal).then(async (limit) => {
      exceeded = limit
      process.kill()
      await process.exited
      return limit
    })
    const ended = process.exited.then((): Exchange => ({ reason: 'the runtime of the module ended', again: true }))
    try {
      const first = await Promise.race([this.#call(process.socket(RECORDS_SOCKET), body, signal), ended, watched])
      if ('response' in first || !first.again) return first
      // A connection breaks before its process ends.
      await Promise.race([process.exited, this.#deps.clock.sleep(WATCH_MS).catch(() => {})])
      return exceeded ?? first
    } finally {
      over.abort()
    }
  }

  /** Resolves when the process exceeds a limit. Never resolves after the call. */
  async #watched(process: RuntimeProcess, signal: AbortSignal): Promise<Exchange> {
    const { clock } = this.#deps
    const begin = clock.monotonic()
    let ticks: number | undefined
    for (;;) {
      await clock.sleep(WATCH_MS, signal).catch(async () => await new Promise(() => {}))
      const usage = await processUsage(process.pid)
      ticks ??= usage?.cpuTicks
      const isOver = clock.monotonic() - begin >= MAX_CALL_MS
      const isLarge = (usage?.memoryBytes ?? 0) > MAX_MEMORY_BYTES
      if (!isOver && !isLarge) continue
      if (isLarge)
        return { reason: `the module used more than ${MAX_MEMORY_BYTES / 2 ** 20} MiB of memory`, again: false }
      const again = usage !== undefined && ticks !== undefined && usage.cpuTicks - ticks < BUSY_TICKS
      return { reason: `the module did not end within ${MAX_CALL_MS / 1000} s`, again }
    }
  }

  async #call(socketPath: string, body: Uint8Array, signal: AbortSignal): Promise<Exchange> {
    return await new Promise<Exchange>((resolve) => {
      const broken = () => resolve({ reason: 'the runtime of the module closed the connection', again: true })
      const options = { socketPath, path: '/', method: 'POST', agent: this.#agent, signal }
      const sent = request({ ...options, headers: { 'content-length': body.length } }, (response) => {
        const chunks: Buffer[] = []
        let length = 0
        response.on('data', (chunk: Buffer) => {
          length += chunk.length
          chunks.push(chunk)
          if (length <= MAX_RESPONSE_BYTES) return
          sent.destroy()
          resolve({ reason: `the module responded with more than ${MAX_RESPONSE_BYTES} bytes`, again: false })
        })
        response.on('end', () => {
          if (response.statusCode === 200) resolve({ response: Buffer.concat(chunks) })
          else
            resolve({ reason: 'the module failed: a promise never settles, or an object is not usable', again: false })
        })
        response.on('error', broken)
      })
      sent.on('error', broken)
      sent.end(body)
    })
  }
}
