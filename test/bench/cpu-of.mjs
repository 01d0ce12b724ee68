import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const TICKS = Number(execFileSync('getconf', ['CLK_TCK']))

/** CPU seconds of a process and its children so far, from /proc. */
export function cpuOf(pid) {
  const parents = new Map()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const fields = readFileSync(`/proc/${entry}/stat`, 'utf8').split(') ')[1].split(' ')
      parents.set(Number(entry), { parent: Number(fields[1]), cpu: Number(fields[11]) + Number(fields[12]) })
    } catch {
      // A process that ended meanwhile.
    }
  }
  let sum = 0
  for (const [id, { parent, cpu }] of parents) if (id === pid || parent === pid) sum += cpu
  return sum / TICKS
}

/** CPU seconds of the Redis whose pid is in REDIS_PID; 0 without it: an embedded store runs in the measured process. */
export const storeCpu = () => (process.env.REDIS_PID ? cpuOf(Number(process.env.REDIS_PID)) : 0)
