// What other clients of the daemon see while a drill attacks it, measured by processes of their own.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'

/** Starts a process of the drills in a role of `child.mjs`. */
export const child = (...args) => fork(new URL('./child.mjs', import.meta.url), args)

/** Repeats the request of a probe until a time. Returns the worst time in ms, the count, and a status other than 200. */
export async function repeat(probe, what, until) {
  let worst = 0
  let count = 0
  let bad
  do {
    probe.send(what)
    const [{ status, ms }] = await once(probe, 'message')
    worst = Math.max(worst, ms)
    count++
    if (status !== 200) bad = status
    await wait(20)
  } while (performance.now() < until)
  return { worst, count, bad }
}

export const shown = ({ bad, worst }) => `${bad === undefined ? '' : `${bad}, `}${Math.round(worst)} ms`
