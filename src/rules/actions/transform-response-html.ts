import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { MANAGED_REQUEST_PHASES } from './phase-groups.js'

export const transformResponseHtml = action({
  name: 'transform_response_html',
  summary: 'Leads crawlers into a maze of links. Stored without effect here.',
  optional: true,
  phases: ['http_request_firewall_custom', 'http_request_firewall_managed', 'http_response_firewall_managed'],
  managedPhases: MANAGED_REQUEST_PHASES,
  params: Type.Object({ link_maze: Type.Optional(Type.Object({}, strict)) }, strict),
  inert: ({ link_maze: maze }) => [maze === undefined ? '' : '/link_maze'],
  prepare: () => () => undefined,
  examples: [{ phase: 'http_request_firewall_managed', params: { link_maze: {} } }],
})
