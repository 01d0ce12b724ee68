import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const TICKS = Number(execFileSync('getconf', ['CLK_TCK']))

/** CPU seconds of a process and its children so far, from /proc. */
export function cpuOf(pid) {
  const { user, system } = cpuPartsOf(pid)
  return user + system
}

/** The same, by where it was used. */
export function cpuPartsOf(pid) {
  const parents = new Map()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const fields = readFileSync(`/proc/${entry}/stat`, 'utf8').split(') ')[1].split(' ')
      parents.set(Number(entry), { parent: Number(fields[1]), user: Number(fields[11]), system: Number(fields[12]) })
    } catch {
      // A process that ended meanwhile.
    }
  }
  const sum = { user: 0, system: 0 }
  for (const [id, { parent, user, system }] of parents) {
    if (id !== pid && parent !== pid) continue
    sum.user += user / TICKS
    sum.system += system / TICKS
  }
  return sum
}

/** CPU seconds of the Redis whose pid is in REDIS_PID; 0 without it: an embedded store runs in the measured process. */
export const storeCpu = () => (process.env.REDIS_PID ? cpuOf(Number(process.env.REDIS_PID)) : 0)
