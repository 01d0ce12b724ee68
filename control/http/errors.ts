/** Every error of the API: code, status, message. Codes and texts are the same as in the public v4 API if known. */
export const ERRORS = {
  // Authentication and permissions
  noCredentials: [9106, 400, 'Missing X-Auth-Key, X-Auth-Email or Authorization headers'],
  badHeaders: [6003, 400, 'Invalid request headers'],
  badAuthorization: [6111, 400, 'Invalid format for Authorization header'],
  badAuthEmail: [6102, 400, 'Invalid format for X-Auth-Email header'],
  badAuthKey: [6103, 400, 'Invalid format for X-Auth-Key header'],
  unknownToken: [9109, 403, 'Invalid access token'],
  unknownKey: [9103, 403, 'Unknown X-Auth-Key or X-Auth-Email'],
  unverifiedToken: [1000, 401, 'Invalid API Token'],
  tooManyFailures: [10429, 429, 'too many requests with wrong credentials from this address; wait before the next one'],
  notVisible: [9109, 403, 'Unauthorized to access requested resource'],
  notAllowed: [10000, 403, 'Authentication error'],
  rateLimited: [10429, 429, 'More than the allowed number of requests; wait before the next one'],

  // Routes and resources
  unroutable: [7003, 404, 'Could not route to the path, perhaps your object identifier is invalid?'],
  noRoute: [7000, 404, 'No route for that URI'],
  badMethod: [10405, 405, 'the method is not allowed on this path'],
  notFound: [10404, 404, 'not found'],
  conflict: [10409, 409, 'the resource was changed by another request; read it again'],
  exists: [10410, 409, 'exists already'],

  // Request bodies and queries
  invalid: [10001, 400, 'the request does not fit its schema'],
  badJson: [6007, 400, 'Malformed JSON in request body'],
  badRequest: [10400, 400, 'the request could not be read'],
  badBody: [10026, 400, 'the request body could not be read'],
  wrongType: [10415, 415, 'this endpoint does not accept the content type'],
  tooLarge: [10413, 413, 'the request body is too large'],
  badQuery: [10002, 400, 'the query does not fit its schema'],

  // Zone settings
  unknownSetting: [1003, 400, 'Undefined zone setting'],
  badSetting: [1007, 400, 'Invalid value for zone setting'],
  noReserveClear: [1142, 404, 'Cache Reserve of the zone was never cleared'],
  reserveIsOn: [1143, 400, 'Cache Reserve of the zone is on; switch it off before it is cleared'],
  notEntitled: [1015, 400, "not available on the zone's plan"],

  // Zones
  badZone: [20501, 400, 'the zone does not fit its schema'],
  zoneExists: [1061, 400, 'a zone with this name already exists'],
  zoneReadOnly: [20502, 400, 'the zone is defined in the configuration file; change it there'],
  tooManyZones: [20503, 403, 'the account has the maximum number of zones (control.quotas.zones_per_account)'],
  badTransforms: [20504, 400, 'the managed transforms do not fit their schema'],

  // Custom hostnames
  badHostname: [1407, 400, 'the custom hostname does not fit'],
  duplicateHostname: [1406, 409, 'Duplicate custom hostname found.'],
  noFallbackOrigin: [1551, 404, 'Resource not found.'],
  unknownHostname: [1436, 404, 'The custom hostname was not found.'],
  hostnameQuota: [
    1405,
    403,
    'the zone has the maximum number of custom hostnames (control.quotas.custom_hostnames_per_zone)',
  ],

  // Members of accounts
  memberNotFound: [1003, 404, 'the member was not found'],
  roleNotFound: [1004, 404, 'the role was not found'],

  // Tokens
  noSuchToken: [10040, 404, 'the token was not found'],
  tokenQuota: [10041, 403, 'the maximum number of tokens is reached'],
  notYours: [10042, 403, 'a token cannot grant permissions that it does not have itself'],

  // Rulesets
  noEntryPoint: [10003, 404, 'could not find entrypoint ruleset'],
  rulesetChanged: [20017, 412, 'If-Match does not name the current ETag of the ruleset; read the ruleset again'],
  rulesetNotFound: [20001, 404, 'could not find the ruleset'],
  ruleNotFound: [20002, 404, 'could not find the rule'],
  versionNotFound: [20003, 404, 'could not find that version of the ruleset'],
  unknownPhase: [20004, 404, 'unknown phase'],
  badRuleset: [20005, 400, 'the ruleset does not fit its schema'],
  entryPointExists: [20006, 400, 'the phase has an entry point already'],
  rulesetInUse: [20007, 400, 'the ruleset is run by execute rules'],
  latestVersion: [20008, 400, 'the latest version cannot be deleted; delete the ruleset instead'],
  tooManyRulesets: [20009, 403, 'the maximum number of rulesets is reached (control.quotas.rulesets_per_scope)'],
  tooManyRules: [20010, 400, 'the ruleset would have too many rules (control.quotas.rules_per_ruleset)'],
  rulesOfFile: [20018, 409, 'the rules of the phase are in the configuration file; change them there'],
  badPage: [20012, 400, 'the page does not fit'],
  pageNotFound: [20013, 404, 'could not find the page'],
  pageExists: [20014, 409, 'a page with that name exists already'],
  tooManyPages: [
    20015,
    403,
    'the maximum of pages or of their bytes is reached (control.quotas.error_pages_per_scope, error_page_bytes_per_scope)',
  ],
  pagesBusy: [20016, 429, 'too many pages are being fetched; try again'],
  rulesetsBusy: [20011, 429, 'too many concurrent changes to rulesets; try again'],

  // The request log
  requestNotKept: [20601, 404, 'no request with this ray id is kept'],

  // Lists
  badList: [20201, 400, 'the list or its items do not fit their schema'],
  listNotFound: [20202, 404, 'could not find the list'],
  itemNotFound: [20203, 404, 'could not find the item in the list'],
  operationNotFound: [20204, 404, 'could not find the operation'],
  listExists: [20205, 400, 'a list with that name exists already'],
  listInUse: [10031, 400, 'the list is used by rules'],
  listReadOnly: [20206, 400, 'the list belongs to the configuration and is changed there'],
  tooManyLists: [20207, 403, 'the maximum number of lists is reached (control.quotas.lists_per_account)'],
  tooManyItems: [20208, 400, 'the list would have too many items (control.quotas.items_per_list)'],
  listsBusy: [20209, 429, 'too many concurrent changes to lists; try again'],

  // Posture findings and webhooks
  badWebhook: [10601, 400, 'the webhook does not fit'],
  webhookNotFound: [10602, 404, 'the webhook was not found'],
  tooManyWebhooks: [10603, 403, 'the maximum number of webhooks is reached (webhooks.quotas.webhooks)'],
  badJobs: [10604, 400, 'the request must name finding instances and webhooks'],
  jobNotFound: [10605, 404, 'the job was not found'],
  jobInProgress: [10606, 409, 'the job is still in progress'],
  webhookOff: [10607, 409, 'the webhook of the job is disabled or deleted'],
  findingNotFound: [10608, 404, 'the finding was not found'],
  instanceNotFound: [10609, 404, 'the finding instance was not found'],
  tooManyFindings: [
    10610,
    403,
    'the maximum number of findings or finding instances is reached (webhooks.quotas.findings, .instances)',
  ],
  queueFull: [10611, 503, 'the maximum number of deliveries is waiting (webhooks.quotas.pending); try again later'],
  badPolicy: [10612, 400, 'the policy does not fit'],
  findingTypeNotFound: [10615, 404, 'no finding of the account has this type'],
  findingsBusy: [10616, 429, 'too many concurrent requests; try again'],
  integrationNotFound: [10617, 404, 'the integration was not found'],
  integrationOfFindings: [10618, 409, 'findings name the integration, which was not created here'],
  badIntegration: [10619, 400, 'the integration does not fit'],
  tooManyIntegrations: [10620, 403, 'the maximum number of integrations is reached'],
  applicationNotFound: [10622, 404, 'the application is not known'],
  exportNotFound: [10621, 404, 'the export was not found'],
  policyNotFound: [10613, 404, 'the policy was not found'],
  tooManyPolicies: [10614, 403, 'the maximum number of policies is reached (webhooks.quotas.policies)'],

  // Versions, deployments and secrets of scripts
  serviceNotFound: [10090, 404, 'This service does not exist on your account.'],
  objectNamespaceNotFound: [10066, 404, 'the namespace of Durable Objects was not found'],
  scriptVersionNotFound: [10222, 404, 'the version was not found'],
  deploymentNotFound: [20441, 404, 'the deployment was not found'],
  badDeployment: [20442, 400, 'the deployment does not fit'],
  mixedExports: [100405, 400, 'versions that declare other Durable Object classes cannot share requests'],
  secretsChanged: [10220, 400, 'secrets have changed since that version was created'],
  notDeployed: [10215, 400, 'the latest version is not deployed; deploy it first'],
  secretNotFound: [10056, 404, 'the secret was not found'],
  bindingTaken: [10053, 400, 'the name is that of another binding'],
  badSecret: [20443, 400, 'the secret does not fit'],
  badSettings: [20444, 400, 'the settings do not fit'],
  scriptInUse: [20445, 409, 'other Workers use the script'],
  badWorker: [20446, 400, 'the Worker does not fit'],
  workerExists: [20447, 409, 'a Worker with that name exists already'],
  dataNotLost: [20449, 409, 'a machine has the data; stop it and wait for 15 s, or copy the folder of the data'],
  versionInUse: [20448, 409, 'the version serves requests'],

  // Routes and domains of Workers
  noSubdomain: [10007, 404, 'the account has no subdomain for its Workers yet'],
  subdomainTaken: [10031, 409, 'the subdomain is not available'],
  subdomainUnavailable: [10031, 403, 'another account uses the subdomain'],
  subdomainFree: [10032, 404, 'no account uses the subdomain'],
  badSubdomain: [20401, 400, 'the subdomain does not fit'],
  domainNotFound: [20402, 404, 'the domain was not found'],
  badDomain: [20403, 400, 'the domain does not fit'],
  domainTaken: [20404, 409, 'the host name is in use'],
  tooManyDomains: [20405, 403, 'the maximum number of domains is reached'],
  routeNotFound: [20406, 404, 'the route was not found'],
  badRoute: [10022, 400, 'the route does not fit'],
  duplicateRoute: [10020, 409, 'a route with this pattern exists already'],
  tooManyRoutes: [20407, 403, 'the maximum number of routes is reached'],
  badSchedules: [20408, 400, 'the schedules do not fit'],
  tailNotFound: [20409, 404, 'the tail was not found'],
  tooManyTails: [20410, 403, 'the maximum number of tails is reached'],
  badTail: [20411, 400, 'the tail does not fit'],

  // Targets of bindings
  namespaceNotFound: [10013, 404, 'namespace not found'],
  namespaceExists: [10014, 400, 'a namespace with this account ID and title already exists'],
  badNamespace: [10012, 400, 'the namespace does not fit'],
  tooManyNamespaces: [20421, 403, 'the maximum number of namespaces is reached'],
  keyNotFound: [10009, 404, 'key not found'],
  badValue: [20422, 400, 'the key or its value does not fit'],
  valueTooLarge: [20423, 413, 'the value is too large'],
  tooManyKeys: [20424, 403, 'the maximum number of keys is reached'],
  bucketNotFound: [10006, 404, 'The specified bucket does not exist.'],
  bucketExists: [10004, 409, 'The bucket you tried to create already exists, and you own it.'],
  corsNotFound: [10059, 404, 'The CORS configuration does not exist.'],
  bucketNotEmpty: [10008, 409, 'The bucket you tried to delete is not empty.'],
  objectNotFound: [10007, 404, 'The specified key does not exist.'],
  objectChanged: [10031, 412, 'a condition of the request is not met by the stored object'],
  objectTooLarge: [100100, 413, 'the object is too large'],
  badObject: [10029, 400, 'the object does not fit'],
  badRange: [10039, 416, 'the object has no bytes in this range'],
  tooManyObjects: [10022, 403, 'the maximum number of objects is reached'],
  badBucket: [10005, 400, 'the bucket does not fit'],
  tooManyBuckets: [20425, 403, 'the maximum number of buckets is reached'],
  queueNotFound: [11000, 404, 'the queue does not exist'],
  queueExists: [11009, 409, 'a queue with that name exists already'],
  badQueue: [11003, 400, 'the queue, its consumer or the messages do not fit'],
  tooManyQueues: [11008, 403, 'the maximum number of queues is reached'],
  tooManyMessages: [11010, 429, 'the queues of the account have the maximum number of messages'],
  consumerNotFound: [11002, 404, 'the consumer does not exist'],
  consumerExists: [11004, 409, 'the queue has a consumer already'],
  databaseNotFound: [7404, 404, 'the database could not be found'],
  databasesBusy: [7503, 503, 'the databases of the account are busy with another query'],
  queryStopped: [7504, 400, 'the query exceeded a limit and was stopped'],
  databaseExists: [7502, 400, 'a database with that name exists already'],
  noRuntime: [7501, 501, 'the runtime for Workers and databases is not installed; `edged doctor` prints the command'],
  badDatabase: [7500, 400, 'the database does not fit'],
  tooManyDatabases: [20426, 403, 'the maximum number of databases is reached'],
  secretStoreNotFound: [1001, 404, 'the store of secrets does not exist'],
  secretStoreExists: [1003, 409, 'a store of secrets with that name exists already'],
  secretStoreNotEmpty: [1005, 409, 'the store has secrets; delete them first, or add ?force=true'],
  badSecretStore: [1002, 400, 'the store of secrets does not fit'],
  tooManySecretStores: [20427, 403, 'the maximum number of stores of secrets is reached'],
  storeSecretNotFound: [1001, 404, 'the secret does not exist'],
  storeSecretExists: [1003, 409, 'a secret with that name exists in the store already'],
  badStoreSecret: [1002, 400, 'the secret does not fit'],
  tooManyStoreSecrets: [20428, 403, 'the maximum number of secrets is reached'],
  hyperdriveNotFound: [2001, 404, 'the Hyperdrive configuration does not exist'],
  hyperdriveExists: [2017, 409, 'a Hyperdrive configuration with that name exists already'],
  badHyperdrive: [2009, 400, 'the Hyperdrive configuration does not fit'],
  tooManyHyperdrives: [20429, 403, 'the maximum number of Hyperdrive configurations is reached'],

  // Log push
  badLogpush: [1002, 400, 'error parsing input'],
  badDestination: [1002, 400, 'error validating destination'],
  badChallenge: [1002, 400, 'incorrect ownership challenge'],
  tooManyJobs: [1004, 403, 'creating a new job is not allowed: exceeded max jobs allowed'],
  logpushJobNotFound: [20301, 404, 'could not find the job'],
  datasetNotFound: [20302, 404, 'unknown dataset'],
  badRecords: [20303, 400, 'the records could not be read'],
  spoolFull: [20304, 429, 'no room for records now; send them again later'],
  spoolUnavailable: [20308, 503, 'the log spool is not available now; send the records again later'],
  tooManySessions: [20305, 403, 'the maximum number of live sessions is reached'],
  logsNotRetained: [
    20307,
    400,
    'records of this zone are not retained; set the flag with POST logs/control/retention/flag',
  ],
  deadLetterNotFound: [20309, 404, 'the job has no dead letter with this id'],
  deadLetterUnreadable: [20310, 409, 'the dead letter cannot be read on this machine'],
  logpushBusy: [20306, 429, 'too many concurrent requests; try again'],

  // Worker scripts
  scriptNotFound: [10007, 404, 'This Worker does not exist on your account.'],
  badScriptName: [
    10016,
    400,
    'the name of a script must have 1 to 63 characters of a-z, 0-9, _ and -, and must not begin with -',
  ],
  invalidScript: [10021, 400, 'the script does not fit'],
  noHandlers: [10068, 400, 'no event handlers were registered; this script does nothing'],
  scriptTooLarge: [10027, 413, 'the modules of the script are too large'],
  scriptChanged: [10035, 412, 'If-Match does not name the current ETag of the script; read the script again'],
  tooManyScripts: [10037, 403, 'the maximum number of scripts is reached (workers.quotas.scripts)'],
  unnamedBinding: [10052, 400, 'a binding needs a name'],
  variableTooLarge: [10054, 400, 'the variable or secret is too large'],
  tooManyBindings: [10055, 400, 'the script would have too many bindings (workers.quotas.bindings)'],
  inheritBinding: [10057, 400, 'the inherit binding is invalid'],
  serviceBinding: [10143, 400, 'the target of a service binding was not found'],
  classNotCreated: [10061, 400, 'no migration has created the Durable Object class'],
  classNotExported: [10064, 400, 'the script no longer exports a Durable Object class that is in use'],
  newClassNotExported: [10070, 400, 'the script does not export the Durable Object class'],
  badMigration: [10074, 400, 'the migration cannot be applied'],
  migrationTag: [10079, 400, 'the migration tag precondition failed'],
  exportsConflict: [100402, 400, 'the exports cannot be reconciled with what is deployed'],
  undeployedExport: [100406, 400, 'the class is declared in exports only and not deployed yet'],
  unappliedMigration: [10123, 400, 'no deployed migration has created the Durable Object class yet'],
  versionMigration: [10211, 400, 'migrations must be deployed with the script, not uploaded as a version'],
  uploadsBusy: [20431, 503, 'too many concurrent uploads; try again'],

  // Static assets of Workers
  badAssets: [10300, 400, 'the assets do not fit'],
  badAssetToken: [10301, 401, 'the token for assets is not valid or has expired'],
  assetsBusy: [10302, 503, 'too many concurrent uploads; try again'],

  // Limits and internal errors
  internal: [10500, 500, 'internal error'],
  lostBlob: [10508, 500, 'stored content is damaged or missing'],
  full: [10507, 507, 'the storage is full; nothing was changed'],
  unavailable: [10503, 503, 'the store does not accept changes now; nothing was changed'],
} as const satisfies Record<string, readonly [code: number, status: number, message: string]>

export type ErrorKind = keyof typeof ERRORS

/** Options of an {@link ApiError} besides its row. */
export interface ErrorDetail {
  /** Replaces the row's message. */
  readonly message?: string
  /** More specific reasons, as `error_chain` inside the error. */
  readonly chain?: readonly ErrorKind[]
  /** Entries of `errors` after this one. */
  readonly followedBy?: readonly ErrorKind[]
  /** Added to the error unchanged, for clients that can use it. */
  readonly meta?: Readonly<Record<string, unknown>>
  /** Members at the top of the envelope. */
  readonly top?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** An error response with this row of {@link ERRORS}. `pointer`: JSON pointer into the body, or `/name` of a query. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly kind: ErrorKind
  readonly code: number
  readonly status: number
  readonly pointer: string | undefined
  readonly detail: ErrorDetail

  constructor(kind: ErrorKind, pointer?: string, detail: string | ErrorDetail = {}) {
    const [code, status, message] = ERRORS[kind]
    const more = typeof detail === 'string' ? { message: detail } : detail
    super(more.message ?? message, { cause: more.cause })
    this.kind = kind
    this.code = code
    this.status = status
    this.pointer = pointer
    this.detail = more
  }
}

/** An error response with all given errors. The first error determines the status. */
export class ApiErrors extends Error {
  override readonly name = 'ApiErrors'
  readonly errors: readonly ApiError[]

  constructor(errors: readonly [ApiError, ...ApiError[]]) {
    super(errors.map(({ message }) => message).join('; '))
    this.errors = errors
  }
}
