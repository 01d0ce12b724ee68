import { Edits } from './edits.js'
import type { Endpoint } from './endpoint.js'
import type { ControlDeps } from './state.js'
import type { WorkersDeps, WorkersEngine } from './workers/engine.js'

type Area = (deps: WorkersDeps) => Endpoint[]

const AREAS: readonly Area[] = []

/** Worker scripts and all that belongs to them. */
export function workers(deps: ControlDeps & { readonly workers: () => WorkersEngine }): Endpoint[] {
  const shared: WorkersDeps = { ...deps, edits: new Edits() }
  return AREAS.flatMap((area) => area(shared))
}
