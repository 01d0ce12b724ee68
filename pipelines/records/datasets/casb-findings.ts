import { dataset } from '../dataset.js'

export const casbFindings = dataset({
  name: 'casb_findings',
  scopes: ['account'],
  clock: 'DetectedTimestamp',
  fields: {
    AssetDisplayName: 'string',
    AssetExternalID: 'string',
    AssetLink: 'string',
    AssetMetadata: 'object',
    DetectedTimestamp: 'timestamp',
    FindingTypeDisplayName: 'string',
    FindingTypeID: 'string',
    FindingTypeSeverity: 'string',
    InstanceID: 'string',
    IntegrationDisplayName: 'string',
    IntegrationID: 'string',
    IntegrationPolicyVendor: 'string',
  },
})
