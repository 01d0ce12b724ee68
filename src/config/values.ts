/** Values that several sections of the configuration have. */
import { Type } from 'typebox'

/** Identifiers in examples. */
export const EXAMPLE_ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
export const EXAMPLE_ZONE = '9f1839b6152d298aca64c4e906b6d074'

/** The identifier of an account or a zone. */
export const Id = (example: string, description: string) =>
  Type.String({
    pattern: '^[0-9a-f]{32}$',
    description,
    examples: [example],
    'x-message': 'must be 32 digits of 0-9 and a-f',
  })

/** An address to listen on. */
export const Listen = (byDefault: string, description: string) =>
  Type.String({
    pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}$',
    default: byDefault,
    description,
    'x-message': 'must be an address and a port, as in 127.0.0.1:8080',
  })

/** An address that may also be a unix socket. */
export const LocalListen = (byDefault: string, description: string) =>
  Type.String({
    pattern: '^((\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}|unix:/\\S+)$',
    default: byDefault,
    description: `${description} unix:/PATH is a unix socket for its owner and group.`,
    'x-message': 'must be an address and a port, as in 127.0.0.1:8080, or unix:/PATH',
  })

/** A whole number from 0. */
export const Count = (byDefault: number, description: string) =>
  Type.Integer({ minimum: 0, default: byDefault, description })
