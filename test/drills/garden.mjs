// The same mutated bytes through edged and other servers, in front of it and behind it: who reads what as a request.
import { register } from 'tsx/esm/api'
import { ACCOUNT, drillFolder, startDaemon } from './daemon.mjs'

/** --cases N (100000), --seed N (1), --only TEXT: the name of a server, `requests` or `responses`. */
export async function drill(option, text) {
  register()
  const { garden } = await import('./garden/garden.ts')
  const folder = drillFolder()
  return await garden({
    cases: option('cases', 100_000),
    seed: option('seed', 1),
    only: text('only') ?? '',
    account: ACCOUNT,
    folder,
    start: (origin, options) => startDaemon(folder, origin, options),
  })
}
