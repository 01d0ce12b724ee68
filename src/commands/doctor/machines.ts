import type { Redis } from 'ioredis'
import type { Config } from '../../config/schema.js'
import { messageOf } from '../../core/errors.js'
import { WORKER_MACHINES, type WorkerMachine } from '../../core/model/worker-data.js'
import type { Stored } from '../../core/store.js'
import { dial, exchange } from '../../daemon/machines/link.js'
import type { MachineReply, MachineRequest } from '../../daemon/machines/homes.js'
import { Keyring } from '../../store/secrets/keyring.js'
import { loadKind } from '../../store/redis/load.js'
import { readKeys, secretKeys } from '../../store/secrets/vault.js'

const REPLY_MS = 3000

/** Whether another machine of the installation responds. */
export interface MachineResult {
  readonly level: 'ok' | 'warn' | 'FAIL'
  readonly message: string
}

/** Connects to each machine that has announced itself in Redis. `self`: the name of the daemon that runs here. */
export async function reachMachines(redis: Redis, config: Config, self: string | undefined): Promise<MachineResult[]> {
  const found = (await loadKind(redis, WORKER_MACHINES)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const others = found.filter(({ id }) => id !== self)
  if (others.length === 0) return [{ level: 'ok', message: 'no other machine that runs Workers uses this Redis now' }]
  let keys
  try {
    keys = new Keyring(await readKeys(secretKeys(config))).deriveAll('machines')
  } catch (error) {
    const message = `the secret key cannot be read (${messageOf(error)}), so no machine was asked; run this as the user of the daemon`
    return [{ level: 'warn', message }]
  }
  return await Promise.all(others.map(async (machine) => await reach(machine, keys)))
}

async function reach(machine: Stored<WorkerMachine>, keys: readonly Buffer[]): Promise<MachineResult> {
  const { id, value } = machine
  const { address } = value
  try {
    const socket = await dial(address, keys)
    const request: MachineRequest = { to: id, account: '', call: 'ping' }
    const { error } = (await exchange(socket, request, REPLY_MS)) as MachineReply
    socket.destroy()
    if (error !== undefined) throw new Error(error)
    return { level: 'ok', message: `${id} responds at ${address}` }
  } catch (error) {
    const message =
      `${id} does not respond at ${address} (${messageOf(error)}); start it, or set machines.listen or ` +
      `machines.advertise there to an address that this machine reaches`
    return { level: 'FAIL', message }
  }
}
