import type { Clock } from '../../core/clock.js'
import type { StreamRequest } from '../../core/machine-streams.js'
import { WORKER_MACHINES } from '../../core/model/worker-data.js'
import { DAEMON } from '../../core/scope.js'
import type { Store } from '../../core/store.js'
import { WEBHOOK_SENDERS } from '../../webhooks/lease-kinds.js'
import { FrameReader } from './frames.js'
import type { MachineReply, MachineRequest } from './homes.js'
import { dial, exchange } from './link.js'

/** A machine that does not answer in time is missing. */
const ANSWER_MS = 5000

export interface MachineQuestionsDeps {
  readonly store: Store
  /** Name of this machine. */
  readonly self: string
  /** Known to all machines. The first one is preferred. */
  readonly keys: readonly Buffer[]
  readonly clock: Clock
}

/** Answers of the other machines. */
export interface Answers {
  /** Parsed JSON, in no order. Other machines may have another version. */
  readonly answers: readonly unknown[]
  /** Names of machines that did not answer. */
  readonly missing: readonly string[]
}

/** Asks each other machine of the installation once. */
export class MachineQuestions {
  readonly #deps: MachineQuestionsDeps

  constructor(deps: MachineQuestionsDeps) {
    this.#deps = deps
  }

  /** Never rejects. */
  async ask(question: StreamRequest): Promise<Answers> {
    const { store, self } = this.#deps
    const machines = new Set([...store.list(WEBHOOK_SENDERS), ...store.list(WORKER_MACHINES)].map(({ id }) => id))
    machines.delete(self)
    const answers: unknown[] = []
    const missing: string[] = []
    await Promise.all(
      [...machines].map(async (machine) => {
        try {
          answers.push(await this.#ask(machine, question))
        } catch {
          missing.push(machine)
        }
      }),
    )
    return { answers, missing: missing.toSorted() }
  }

  async #ask(machine: string, question: StreamRequest): Promise<unknown> {
    const { store, keys, clock } = this.#deps
    const address = store.get(WORKER_MACHINES, DAEMON, machine)?.value.address
    if (address === undefined) throw new Error('it takes no connections of other machines')
    const socket = await dial(address, keys)
    const answered = new AbortController()
    void clock.sleep(ANSWER_MS, answered.signal).then(
      () => socket.destroy(),
      () => undefined,
    )
    try {
      const request: MachineRequest = { to: machine, account: question.scope.id, call: { stream: question } }
      const { error } = (await exchange(socket, request, ANSWER_MS)) as MachineReply
      if (error !== undefined) throw new Error(error)
      let text: Buffer | undefined
      const frames = new FrameReader({ text: (read) => (text ??= read), missed: () => undefined })
      for await (const chunk of socket) {
        frames.read(chunk as Buffer)
        if (text) return JSON.parse(text.toString()) as unknown
      }
      throw new Error('it closed the connection')
    } finally {
      answered.abort()
      socket.destroy()
    }
  }
}
