import { Registry } from 'prom-client'
import type { Clock } from '../../../src/core/clock.js'
import { messageOf } from '../../../src/core/errors.js'
import { KeyedMutex } from '../../../src/core/keyed-mutex.js'
import { silentLog } from '../../../src/core/log.js'
import { account, type Scope } from '../../../src/core/scope.js'
import { StoreUnavailable, type Store } from '../../../src/core/store.js'
import { WORKER_DATA_HOMES, WORKER_DATA_ID } from '../../../src/core/model/worker-data.js'
import { recordName } from '../../../src/store/records/record.js'
import { HOME_FILE } from '../../../src/daemon/machines/home-file.js'
import { WorkerHomes, type HomesDeps, type MachineRequest } from '../../../src/daemon/machines/homes.js'
import { makeFolder, writeDurably, type Disk } from '../../../src/disk/durable-write.js'
import { readAt } from '../../../src/disk/positioned-io.js'
import { DataAway } from '../../../src/workers/runtime/data-homes.js'
import { drawPlan, type Plan } from '../plan.js'
import type { Life } from '../scheduler.js'
import { SimulatedStore } from '../store.js'
import { FLAWED } from '../stores/flawed.js'
import type { Subject, World } from '../world.js'
import { HomesHistory } from './history.js'

const KINDS = ['away', 'away', 'unheard', 'broken', 'full', 'sync', 'descriptors', 'slow'] as const
const CALL = { script: undefined, mayStay: false }
const FOLDER = '/data/workers'
/** Calls that each machine must make after the last crash. */
const LAST_CALLS = 3
/** Value of `moves`: folders of machines that have ended are moved to the other one. */
const MOVES = 2

export const homesPlan = (seed: number): Plan =>
  drawPlan('homes', seed, {
    kinds: KINDS,
    rate: 0.06,
    steps: 400,
    work: (random) => ({
      machines: 2,
      accounts: 1 + random.below(2),
      calls: 5 + random.below(20),
      moves: 1 + random.below(2),
    }),
  })

/** What makes homes worse than they are, to prove that a run notices. */
export interface HomesFlaws {
  /** The store compares no versions. */
  readonly blind?: boolean
  /** A machine runs data that another one has. */
  readonly greedy?: boolean
}

interface Machine {
  readonly life: Life
  readonly index: number
  readonly clock: Clock
  readonly disk: Disk
  readonly acts: KeyedMutex
  homes?: WorkerHomes
  stopping: boolean
  /** Calls of its clients that succeeded. */
  made: number
}

/** Two machines with the data of accounts, and clients on each that call it. */
export class HomesSubject implements Subject {
  readonly #world: World
  readonly #flaws: HomesFlaws
  readonly #store: SimulatedStore
  readonly #history = new HomesHistory()
  readonly #accounts: readonly Scope[]
  readonly #machines: Machine[] = []
  #made = 0

  constructor(world: World, flaws: HomesFlaws = {}) {
    this.#world = world
    this.#flaws = flaws
    this.#store = new SimulatedStore(world)
    this.#accounts = Array.from({ length: world.plan.work['accounts']! }, (_, index) => account(`${index}`.repeat(32)))
  }

  get isDone(): boolean {
    return this.#made >= this.#world.plan.work['calls']! && this.#machines.every(({ made }) => made >= LAST_CALLS)
  }

  missing(): void {}

  boot(life: Life, index: number): void {
    const { scheduler, plan, work } = this.#world
    const hadLife = this.#machines[index] !== undefined
    if (hadLife && plan.work['moves'] === MOVES && work.chance(0.5)) this.#move(index, work.pick(this.#accounts))
    const machine: Machine = {
      life,
      index,
      clock: scheduler.clock(life),
      disk: this.#world.diskOf(index).port(life),
      acts: new KeyedMutex(),
      stopping: false,
      made: 0,
    }
    this.#history.ended(index)
    this.#machines[index] = machine
    this.#world.start(life, async () => await this.#run(machine))
  }

  async stop(life: Life): Promise<void> {
    const machine = this.#machines.find((one) => one.life === life)!
    machine.stopping = true
    await machine.homes?.close()
  }

  /** The operator moves the data of an account to the other machine. */
  #move(from: number, scope: Scope): void {
    const row = this.#store.row(recordName(WORKER_DATA_HOMES.name, scope, WORKER_DATA_ID))
    const { data } = (row?.stored.value ?? {}) as { data?: string }
    const found = this.#world.diskOf(from).content(`${FOLDER}/${scope.id}/${HOME_FILE}`)
    if (data === undefined || found?.trim() !== data) return
    this.#world.scheduler.say(`the folder of ${scope.id[0]} moves to ${'ab'[1 - from]}`)
    this.#world.diskOf(from).moveTo(this.#world.diskOf(1 - from), `${FOLDER}/${scope.id}`)
  }

  async #run(machine: Machine): Promise<void> {
    const { life, clock, disk, index } = machine
    await this.#world.again(clock, async () => await makeFolder(disk, FOLDER))
    const store: Store = this.#store.open(life)
    const name = 'ab'[index]!
    const homes = new WorkerHomes({
      store: this.#flaws.blind ? FLAWED.unversioned(store) : store,
      clock,
      disk,
      log: silentLog,
      metrics: new Registry(),
      folder: FOLDER,
      self: name,
      address: name,
      keys: [],
      peers: this.#peers(life),
    })
    machine.homes = homes
    for (const scope of this.#accounts) await this.#failing(machine, async () => await homes.claim(scope, false))
    while (!machine.stopping && !this.isDone) {
      await this.#failing(machine, async () => await this.#call(machine, homes, this.#world.work.pick(this.#accounts)))
      await clock.sleep(this.#world.work.below(2000))
    }
  }

  /** Work that may fail while the store, the disk or the other machine does. */
  async #failing({ life }: Machine, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof DataAway || error instanceof StoreUnavailable || messageOf(error).includes(': simulated')))
        throw error
      this.#world.scheduler.say(`${life.name}: ${messageOf(error)}`)
    }
  }

  /** A call of a client, as the runtime makes it. */
  async #call(machine: Machine, homes: WorkerHomes, scope: Scope): Promise<void> {
    if (!homes.isTaken(scope)) await homes.claim(scope, true)
    if (homes.isHere(scope) || this.#flaws.greedy) await this.#act(machine, scope)
    else await homes.connect(scope, CALL)
    machine.made++
    this.#made++
  }

  /** Uses the data: a number in a file that grows by one. */
  async #act(machine: Machine, scope: Scope): Promise<void> {
    const { disk, acts, index, homes } = machine
    await acts.run(scope.id, async () => {
      if (!homes!.isHere(scope) && !this.#flaws.greedy) throw new DataAway('the data is not here')
      const path = `${FOLDER}/${scope.id}/number`
      this.#world.check(() => this.#history.begin(scope.id, index))
      try {
        if (this.#flaws.greedy) await makeFolder(disk, `${FOLDER}/${scope.id}`)
        const number = 1 + (await numberIn(disk, path))
        await writeDurably(disk, path, String(number))
        this.#world.check(() => this.#history.done(scope.id, number))
      } finally {
        this.#history.end(scope.id)
      }
    })
  }

  /** Connections between the machines. */
  #peers(life: Life): NonNullable<HomesDeps['peers']> {
    const { scheduler, faults } = this.#world
    const lost = () => new Error('simulated: the connection is lost')
    const dial = async (address: string) =>
      await scheduler.call(
        life,
        `dial ${address}`,
        () => {
          const to = this.#machines['ab'.indexOf(address)]
          if (to?.life.alive !== true || faults.has('broken')) throw lost()
          return { to, destroy: () => {} }
        },
        faults.random.below(100),
      )
    const exchange = async (socket: { readonly to: Machine }, request: object, replyMs: number) =>
      await new Promise((resolve, reject) => {
        const { to } = socket
        scheduler.later(life, 'no reply', replyMs, () => reject(lost()))
        const answer = async () => {
          const reply = await this.#answer(to, request as MachineRequest)
          if (!faults.has('unheard')) scheduler.later(life, 'reply', faults.random.below(100), () => resolve(reply))
        }
        scheduler.later(to.life, 'request', faults.random.below(100), () => this.#world.start(to.life, answer))
      })
    return { dial, exchange } as unknown as NonNullable<HomesDeps['peers']>
  }

  async #answer(machine: Machine, { account: id, call }: MachineRequest): Promise<object> {
    try {
      if (call !== 'ping') await this.#act(machine, account(id))
      return {}
    } catch (error) {
      return { error: messageOf(error) }
    }
  }
}

async function numberIn(disk: Disk, path: string): Promise<number> {
  try {
    const file = await disk.open(path)
    try {
      return Number((await readAt(file, 0, 100)).toString())
    } finally {
      await file.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
