import { join } from 'node:path'
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

/** Returns how to start transforms whose outputs have their state in a folder. */
export function transformOpener(folder: string, clock: Clock): OpenTransform {
  return (module, name) => {
    const binary = findWorkerd()
    if (binary === undefined) throw new Error(`transform ${missingRuntime()}`)
    return new WorkerTransform(module, { binary, key: join(folder, 'transform', name), clock })
  }
}
