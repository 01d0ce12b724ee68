import type { Scope } from '../../../src/core/scope.js'
import type { StoredVersion } from '../../../src/core/model/worker.js'
import type { Message } from '../../http/endpoint.js'
import type { WorkersServices } from './index.js'

/** Waits until a deployed version runs. Returns a message if it does not run. */
export async function runsNow(
  { runtime }: Pick<WorkersServices, 'runtime'>,
  scope: Scope,
  { script, main, format }: Pick<StoredVersion, 'script' | 'main' | 'format'>,
): Promise<Message[]> {
  if (main === undefined) return []
  if (format === 'python')
    return [
      {
        code: 10901,
        message:
          'this server does not run Python Workers: the script is stored and does not run; deploy it in JavaScript or WebAssembly',
      },
    ]
  if (!runtime)
    return [
      {
        code: 10901,
        message:
          'this server does not run scripts: its runtime is not installed (`edged doctor` prints the command), or workers.runtime is off',
      },
    ]
  await runtime.applied(scope)
  return stopped({ runtime }, scope, script)
}

/** Returns a message if the deployed script does not run now. */
export function stopped({ runtime }: Pick<WorkersServices, 'runtime'>, scope: Scope, script: string): Message[] {
  const failure = runtime?.failure(scope, script)
  return failure === undefined ? [] : [{ code: 10902, message: `the script does not run: ${failure}` }]
}
