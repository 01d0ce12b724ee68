import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const TICKS = Number(execFileSync('getconf', ['CLK_TCK']))

/** CPU seconds of a process and its children so far, from /proc. */
export function cpuOf(pid) {
  const { user, system } = cpuPartsOf(pid)
  return user + system
}

/** CPU seconds of each process of a tree so far: { pid, name, seconds }. */
export function cpuOfTree(pid) {
  const all = []
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      const end = stat.lastIndexOf(') ')
      const fields = stat.slice(end + 2).split(' ')
      const seconds = (Number(fields[11]) + Number(fields[12])) / TICKS
      all.push({ pid: Number(entry), parent: Number(fields[1]), name: stat.slice(stat.indexOf('(') + 1, end), seconds })
    } catch {
      // A process that ended meanwhile.
    }
  }
  const below = (parent) => all.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)])
  return [...all.filter((one) => one.pid === pid), ...below(pid)]
}

/** CPU seconds of a process and its children so far, by where they were used. */
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
