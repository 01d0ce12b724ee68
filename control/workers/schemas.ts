import { Type } from 'typebox'
import { orNull } from '../../src/core/schema.js'

const Open = Type.Object({})

/** A script as lists and uploads show it. */
export const ScriptResult = Type.Object({
  id: Type.String({ description: 'Its name.' }),
  tag: Type.String({ description: 'Its id for ever.' }),
  tags: Type.Array(Type.String()),
  created_on: Type.String(),
  modified_on: Type.String(),
  last_deployed_from: Type.Optional(Type.String()),
  etag: Type.String({ description: 'Changes with the content of the modules.' }),
  handlers: Type.Array(Type.String()),
  named_handlers: Type.Array(Type.Object({ name: Type.String(), handlers: Type.Array(Type.String()) })),
  entry_point: Type.Optional(Type.String()),
  has_assets: Type.Boolean(),
  has_modules: Type.Boolean(),
  compatibility_date: Type.Optional(Type.String()),
  compatibility_flags: Type.Array(Type.String()),
  cache_options: Type.Optional(Open),
  exports: Type.Optional(Open),
  logpush: Type.Boolean(),
  migration_tag: Type.Optional(Type.String()),
  observability: Type.Optional(Open),
  placement: Type.Optional(Open),
  placement_mode: Type.Optional(Type.String()),
  placement_status: Type.Optional(Type.String({ deprecated: true })),
  tail_consumers: Type.Array(Open),
  usage_model: Type.String(),
  startup_time_ms: Type.Number({ description: 'Time to read the code if no runtime is installed.' }),
  deployment_id: Type.Optional(Type.String()),
  pipeline_hash: Type.Optional(Type.String()),
  mutable_pipeline_id: Type.Optional(orNull(Type.String())),
})
