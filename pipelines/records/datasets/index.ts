import { ANY, WHOLE } from '../any.js'
import type { Dataset } from '../dataset.js'
import { accessRequests } from './access-requests.js'
import { accountAbuseProtectionEvents } from './account-abuse-protection-events.js'
import { auditLogs } from './audit-logs.js'
import { auditLogsV2 } from './audit-logs-v2.js'
import { bisoUserActions } from './biso-user-actions.js'
import { casbFindings } from './casb-findings.js'
import { devicePostureResults } from './device-posture-results.js'
import { dexApplicationTests } from './dex-application-tests.js'
import { dexDeviceStateEvents } from './dex-device-state-events.js'
import { dlpForensicCopies } from './dlp-forensic-copies.js'
import { dnsFirewallLogs } from './dns-firewall-logs.js'
import { dnsLogs } from './dns-logs.js'
import { emailSecurityAlerts } from './email-security-alerts.js'
import { emailSecurityPostDeliveryEvents } from './email-security-post-delivery-events.js'
import { firewallEvents } from './firewall-events.js'
import { gatewayDns } from './gateway-dns.js'
import { gatewayHttp } from './gateway-http.js'
import { gatewayNetwork } from './gateway-network.js'
import { httpRequests } from './http-requests.js'
import { ipsecLogs } from './ipsec-logs.js'
import { magicBgpLogs } from './magic-bgp-logs.js'
import { magicIdsDetections } from './magic-ids-detections.js'
import { mcpPortalLogs } from './mcp-portal-logs.js'
import { mnmFlowLogs } from './mnm-flow-logs.js'
import { nelReports } from './nel-reports.js'
import { networkAnalyticsLogs } from './network-analytics-logs.js'
import { pageShieldEvents } from './page-shield-events.js'
import { sinkholeHttpLogs } from './sinkhole-http-logs.js'
import { spectrumEvents } from './spectrum-events.js'
import { sshLogs } from './ssh-logs.js'
import { turnstileEvents } from './turnstile-events.js'
import { warpConfigChanges } from './warp-config-changes.js'
import { warpToggleChanges } from './warp-toggle-changes.js'
import { websocketAnalytics } from './websocket-analytics.js'
import { workersAnalyticsEngine } from './workers-analytics-engine.js'
import { workersTraceEvents } from './workers-trace-events.js'
import { zarazEvents } from './zaraz-events.js'
import { zeroTrustNetworkSessions } from './zero-trust-network-sessions.js'

/** Returns what a spool stores of a dataset: its fields, or everything of records of any shape. */
export const storedDataset = (name: string): Dataset | undefined => (name === ANY ? WHOLE : DATASETS.get(name))

/** Every dataset that a job can push. */
export const DATASETS: ReadonlyMap<string, Dataset> = new Map(
  [
    accessRequests,
    accountAbuseProtectionEvents,
    auditLogs,
    auditLogsV2,
    bisoUserActions,
    casbFindings,
    devicePostureResults,
    dexApplicationTests,
    dexDeviceStateEvents,
    dlpForensicCopies,
    dnsFirewallLogs,
    dnsLogs,
    emailSecurityAlerts,
    emailSecurityPostDeliveryEvents,
    firewallEvents,
    gatewayDns,
    gatewayHttp,
    gatewayNetwork,
    httpRequests,
    ipsecLogs,
    magicBgpLogs,
    magicIdsDetections,
    mcpPortalLogs,
    mnmFlowLogs,
    nelReports,
    networkAnalyticsLogs,
    pageShieldEvents,
    sinkholeHttpLogs,
    spectrumEvents,
    sshLogs,
    turnstileEvents,
    warpConfigChanges,
    warpToggleChanges,
    websocketAnalytics,
    workersAnalyticsEngine,
    workersTraceEvents,
    zarazEvents,
    zeroTrustNetworkSessions,
  ].map((each) => [each.name, each]),
)
