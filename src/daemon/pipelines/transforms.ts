import { join } from 'node:path'
import type { Pipeline } from '../../config/pipeline.js'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { OpenTransform, TransformModule } from '../../core/extension/record-transform.js'
import { PACKAGE_ROOT, WORKERD_VERSION } from '../../release/package.js'
import { findWorkerd, howToInstall } from '../../workers/runtime/binary.js'
import { transformIssue } from '../../workers/transform/check.js'
import { loadTransform, TransformRejected } from '../../workers/transform/load.js'
import { WorkerTransform } from '../../workers/transform/transform.js'

const missingRuntime = (): string => `needs the runtime of Workers: ${howToInstall(PACKAGE_ROOT, WORKERD_VERSION)}`

/** Reads the module of a transform. Returns the reason if that is not possible. */
export function readTransform(file: string): TransformModule | string {
  try {
    return loadTransform(file)
  } catch (error) {
    if (!(error instanceof TransformRejected)) throw error
    return messageOf(error)
  }
}

/** As {@link readTransform}. Also starts the module once, which takes up to 100 ms. */
export function checkTransform(file: string): TransformModule | string {
  const module = readTransform(file)
  if (typeof module === 'string') return module
  const binary = findWorkerd()
  if (binary === undefined) return missingRuntime()
  return transformIssue(module, binary) ?? module
}

/** Returns the modules of pipelines. */
export const modulesOf = (pipelines: readonly Pick<Pipeline, 'outputs'>[]): TransformModule[] =>
  pipelines.flatMap(({ outputs }) => outputs.flatMap(({ job }) => job.settings.transform ?? []))

/** The transforms that run in this process. Their modules can be replaced by the newer code of the same files. */
export class Transforms {
  readonly #clock: Clock
  readonly #running = new Set<WorkerTransform>()
  /** By file: newer code than in the settings of the jobs. */
  readonly #newer = new Map<string, TransformModule>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns how to start transforms whose outputs have their state in a folder. */
  opener(folder: string): OpenTransform {
    return (given, name) => {
      const binary = findWorkerd()
      if (binary === undefined) throw new Error(`transform ${missingRuntime()}`)
      const transform: WorkerTransform = new WorkerTransform(this.#newer.get(given.file) ?? given, {
        binary,
        key: join(folder, 'transform', name),
        clock: this.#clock,
        closed: () => void this.#running.delete(transform),
      })
      this.#running.add(transform)
      return transform
    }
  }

  /**
   * Replaces the code of a file in all transforms that run older code. Resolves with their number. Rejects, and keeps
   * the code, if the newer code cannot run.
   */
  async renew(module: TransformModule): Promise<number> {
    const outdated = [...this.#running].filter(
      ({ module: { file, digest } }) => file === module.file && digest !== module.digest,
    )
    for (const transform of outdated) await transform.replace(module)
    this.#newer.set(module.file, module)
    return outdated.length
  }
}
