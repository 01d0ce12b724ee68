import { Type, type Static } from 'typebox'
import type { ControlConfig } from '../http/context.js'

/** The place of an object in the configuration file. */
export const EdgedSource = Type.Union([Type.Object({ file: Type.String(), line: Type.Integer() }), Type.Null()], {
  description: 'Our own addition: where it is in the configuration file; null for an object of the API.',
})
export type EdgedSource = Static<typeof EdgedSource>

/** Returns where an object is in the configuration file: `zone/ID`, `list/NAME` and so on. */
export function sourceOf({ places }: Pick<ControlConfig, 'places'>, object: string): EdgedSource {
  const line = places?.objects[object]
  return places && line !== undefined ? { file: places.file, line } : null
}
