import type { Binding, ScriptFormat } from '../../../src/core/model/worker.js'
import { BINDINGS } from '../../../src/workers/bindings/index.js'
import type { UploadIssue } from '../../../src/workers/upload-errors.js'
import { partNamed, type NamedPart } from '../../../src/workers/upload/modules.js'

/**
 * Returns the issues of bindings to uploaded parts, with pointers into the given bindings. Such bindings belong to
 * service-worker scripts, and their part must be present.
 */
export function partIssues(
  bindings: readonly Binding[],
  given: readonly Binding[],
  { format, files }: { readonly format: ScriptFormat | undefined; readonly files: readonly NamedPart[] },
): UploadIssue[] {
  return bindings.flatMap((binding): UploadIssue[] => {
    const { part } = binding
    if (BINDINGS.get(binding.type)?.part === undefined || typeof part !== 'string') return []
    const index = given.findIndex(({ name }) => name === binding.name)
    const issue = (member: string, message: string): UploadIssue[] => [
      {
        kind: 'invalidScript',
        // An inherited binding has no place in the metadata that was sent.
        message: `binding ${JSON.stringify(binding.name)}: ${message}`,
        ...(index >= 0 && { pointer: `/bindings/${index}/${member}` }),
      },
    ]
    if (format !== 'service-worker')
      return issue('type', `${binding.type} belongs to service-worker scripts; modules import theirs`)
    return partNamed(part, files) ? [] : issue('part', `names ${JSON.stringify(part)}, which is not an uploaded part`)
  })
}
