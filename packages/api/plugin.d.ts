// Exports: Batch, BatchBody, DatasetInfo, Edged, FieldType, FilterNode, Plugin, PluginAction, PluginDecision, PluginField, PluginFunction, PluginObjectSchema, PluginParam, PluginRecords, PluginRequest, PluginResponse, PluginRun, PluginSchema, PluginSink, PluginSinkConnection, PluginSinkContext, PluginSinkError, PluginSource, PluginSourceContext, SchemaBuilder, SinkFailure, SinkLimits, Type

// Batch: src/core/sink.ts
export interface Batch {
    readonly name: string;
    readonly records: number;
    readonly from: Date;
    readonly to: Date;
    readonly size: number;
    readonly body: BatchBody;
}

// BatchBody: src/core/sink.ts
export interface BatchBody {
    readonly length: number;
    readonly encoding: Encoding;
    read(): AsyncIterable<Uint8Array>;
    bytes(): Promise<Uint8Array>;
}

// DatasetInfo: pipelines/records/fields/dataset.ts
export interface DatasetInfo {
    readonly name: string;
    readonly scopes: readonly ('account' | 'zone')[];
    readonly clock: string;
    readonly fields: Readonly<Record<string, FieldType>>;
    readonly defaults?: readonly string[];
    readonly deprecated?: readonly string[];
    readonly unfilterable?: readonly string[];
    readonly attack?: FilterNode;
}

// Edged: src/plugins/index.ts
export interface Edged {
    readonly Type: SchemaBuilder;
    readonly sink: (sink: PluginSink) => void;
    readonly source: (source: PluginSource) => void;
    readonly action: (action: PluginAction) => void;
    readonly function: (definition: PluginFunction) => void;
    readonly field: (field: PluginField) => void;
    readonly dataset: (dataset: DatasetInfo) => void;
}

// FieldType: pipelines/records/fields/dataset.ts
export type FieldType = 'any' | 'string' | 'int' | 'float' | 'bool' | 'timestamp' | 'object' | 'array[string]' | 'array[int]' | 'array[object]';

// FilterNode: pipelines/records/fields/dataset.ts
export type FilterNode = {
    readonly and: readonly FilterNode[];
} | {
    readonly or: readonly FilterNode[];
} | {
    readonly key: string;
    readonly operator: string;
    readonly value: unknown;
};

// Plugin: src/plugins/index.ts
export type Plugin = (edged: Edged) => void | Promise<void>;

// PluginAction: src/rules/plugin-types.ts
export interface PluginAction {
    readonly name: string;
    readonly summary: string;
    readonly phases: readonly string[];
    readonly params?: PluginObjectSchema;
    readonly examples?: readonly {
        readonly phase: string;
        readonly params: Readonly<Record<string, unknown>>;
    }[];
    prepare(params: Readonly<Record<string, unknown>>): (run: PluginRun) => PluginDecision;
}

// PluginDecision: src/rules/plugin-types.ts
export type PluginDecision = PluginResponse | 'close' | false | undefined;

// PluginField: src/rules/plugin-types.ts
export interface PluginField {
    readonly name: string;
    readonly type: string;
    readonly description: string;
    readonly phases?: readonly string[];
    get(request: PluginRequest): unknown;
}

// PluginFunction: src/expr/language/plugin-types.ts
export interface PluginFunction {
    readonly name: string;
    readonly params: readonly PluginParam[];
    readonly optional?: readonly PluginParam[];
    readonly returns: string;
    readonly phases?: readonly string[];
    readonly callSteps?: number;
    call(...args: readonly unknown[]): unknown;
}

// PluginObjectSchema: src/core/extension/schema.ts
export interface PluginObjectSchema extends PluginSchema {
    readonly properties: Readonly<Record<string, PluginSchema>>;
}

// PluginParam: src/expr/language/plugin-types.ts
export type PluginParam = string | {
    readonly type: string;
    readonly kind?: 'field' | 'literal' | 'any';
};

// PluginRecords: src/core/extension/source-types.ts
export interface PluginRecords {
    readonly records: readonly (object | string)[];
    acknowledge?(): Promise<void>;
}

// PluginRequest: src/rules/plugin-types.ts
export interface PluginRequest {
    readonly rayId: string;
    readonly clientAddress: string;
    readonly scheme: 'http' | 'https';
    readonly zone: {
        readonly id: string;
        readonly name: string;
    };
    readonly host: string;
    readonly method: string;
    readonly rawTarget: string;
    readonly target: string;
    readonly httpVersion: string;
    readonly clientHeaders: readonly string[];
}

// PluginResponse: src/rules/plugin-types.ts
export interface PluginResponse {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | Uint8Array;
}

// PluginRun: src/rules/plugin-types.ts
export interface PluginRun {
    readonly request: PluginRequest;
    readonly setRequestHeader: (name: string, value: string | undefined) => void;
    readonly addScore: (increment: number) => void;
    readonly leavePhase: () => void;
}

// PluginSchema: src/core/extension/schema.ts
export interface PluginSchema {
    readonly [keyword: string]: unknown;
}

// PluginSink: sinks/contract/plugin-types.ts
export interface PluginSink {
    readonly scheme: string;
    readonly form: string;
    readonly summary: string;
    readonly params?: PluginObjectSchema;
    check?(destination: URL, params: Readonly<Record<string, unknown>>, context: PluginSinkContext): void;
    open(destination: URL, params: Readonly<Record<string, unknown>>, context: PluginSinkContext): PluginSinkConnection;
}

// PluginSinkConnection: sinks/contract/plugin-types.ts
export interface PluginSinkConnection {
    readonly encoding?: Encoding;
    readonly limits?: SinkLimits;
    readonly ordered?: boolean;
    write(batch: Batch, signal: AbortSignal): Promise<void>;
    check?(signal: AbortSignal): Promise<void>;
    close?(): Promise<void>;
}

// PluginSinkContext: sinks/contract/plugin-types.ts
export interface PluginSinkContext {
    readonly egress: Egress;
    readonly allowPlainHttp: boolean;
    readonly allowFileUnder: readonly string[];
}

// PluginSinkError: sinks/contract/plugin-types.ts
export interface PluginSinkError extends Error {
    readonly failure?: SinkFailure;
    readonly retryAfterMs?: number;
}

// PluginSource: src/core/extension/source-types.ts
export interface PluginSource {
    readonly name: string;
    readonly description: string;
    readonly schema: PluginSchema;
    readonly endless?: boolean;
    open(options: unknown, context: PluginSourceContext): AsyncIterable<PluginRecords>;
}

// PluginSourceContext: src/core/extension/source-types.ts
export interface PluginSourceContext {
    readonly signal: AbortSignal;
    readonly tell: (message: string) => void;
}

// SchemaBuilder: src/plugins/schema-builder.ts
export interface SchemaBuilder {
    readonly String: (options?: Options) => PluginSchema;
    readonly Integer: (options?: Options) => PluginSchema;
    readonly Number: (options?: Options) => PluginSchema;
    readonly Boolean: (options?: Options) => PluginSchema;
    readonly Literal: (value: string | number | boolean, options?: Options) => PluginSchema;
    readonly Enum: (values: readonly string[], options?: Options) => PluginSchema;
    readonly Array: (items: PluginSchema, options?: Options) => PluginSchema;
    readonly Object: (properties: Readonly<Record<string, PluginSchema>>, options?: Options) => PluginObjectSchema;
    readonly Optional: (schema: PluginSchema) => PluginSchema;
    readonly Union: (schemas: readonly PluginSchema[], options?: Options) => PluginSchema;
}

// SinkFailure: src/core/sink.ts
export type SinkFailure = 'transient' | 'refused' | 'too_large';

// SinkLimits: src/core/sink.ts
export interface SinkLimits {
    readonly bytes?: number;
    readonly records?: number;
}

// Type: src/plugins/schema-builder.ts
export declare const Type: SchemaBuilder;

// AgentOptions: src/egress/egress.ts
export interface AgentOptions {
    readonly maxSockets?: number;
    readonly rejectUnauthorized?: boolean;
}

// ConnectOptions: src/egress/egress.ts
export interface ConnectOptions {
    readonly host: string;
    readonly port: number;
    readonly tls: boolean;
    readonly rejectUnauthorized?: boolean;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
}

// Egress: src/egress/egress.ts
export interface Egress {
    check(host: string, port: number): Promise<void>;
    entryFor?(host: string, port: number): string | undefined;
    agents(options?: AgentOptions): GuardedAgents;
    connect(options: ConnectOptions): Promise<Socket>;
}

// Encoding: src/core/sink.ts
export type Encoding = 'gzip' | 'identity' | 'parquet';

// GuardedAgents: src/egress/egress.ts
export interface GuardedAgents {
    readonly http: HttpAgent;
    readonly https: HttpsAgent;
    retire(): void;
    destroy(): void;
}

// Options: src/plugins/schema-builder.ts
type Options = Readonly<Record<string, unknown>>;
