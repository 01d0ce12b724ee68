import type { LogRecord } from '../core/emit.js'
import type { StoredFinding, StoredInstance } from '../core/model/finding.js'

/** Returns the `casb_findings` record of an instance. */
export const casbRecord = (
  { finding_type_id, name, severity, vendor, integration }: StoredFinding,
  { id, affliction_date, asset }: StoredInstance,
): LogRecord => ({
  AssetDisplayName: asset.name,
  AssetExternalID: asset.external_id,
  AssetLink: asset.link ?? '',
  AssetMetadata: Object.fromEntries((asset.fields ?? []).map((field) => [field.name, field.value])),
  DetectedTimestamp: affliction_date,
  FindingTypeDisplayName: name,
  FindingTypeID: finding_type_id,
  FindingTypeSeverity: severity,
  InstanceID: id,
  IntegrationDisplayName: integration.name ?? '',
  IntegrationID: integration.id,
  IntegrationPolicyVendor: vendorName(integration.vendor) ?? vendor,
})

/** Returns the name of an integration's vendor, which is a string or an object with a name. */
function vendorName(vendor: unknown): string | undefined {
  if (typeof vendor === 'string') return vendor
  const name = vendor !== null && typeof vendor === 'object' && 'name' in vendor ? vendor.name : undefined
  return typeof name === 'string' ? name : undefined
}
