// 200 user agents, half of them liars, in front of `access`; key directories that are slow, huge, wrong or private.
import { register } from 'tsx/esm/api'
import { ACCOUNT, drillFolder, startDaemon } from './daemon.mjs'

/** A key directory may take 3 s. */
const MAX_MS = 1500

/** --max-ms N (1500). */
export async function drill(option) {
  register()
  const { agentLiars } = await import('./agent-liars.ts')
  const folder = drillFolder()
  const start = (origin, options) => startDaemon(folder, origin, options)
  return await agentLiars({ account: ACCOUNT, folder, maxMs: option('max-ms', MAX_MS), start })
}
