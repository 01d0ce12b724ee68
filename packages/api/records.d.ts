// Exports: ANY, BatchText, DATASETS, Dataset, DatasetInfo, Dedupe, FieldType, FieldUse, Filter, FilterLimits, FilterNode, Format, Instant, Locate, MAX_MERGED, MEMBERS, MERGE_WINDOW_MS, MalformedRecord, OPERATORS, Output, OutputOptions, RecordScanner, Redaction, ReserveBytes, Reshape, RowCopier, Rows, Sampler, ScannedRecord, Scanner, Shape, SubrequestMerger, TIMESTAMP_FORMATS, TemplateError, TemplatePart, TimestampFormat, UnfitRecord, Use, WHOLE, anyDataset, attackTest, compileFilter, compileFormat, compileLogpullFormat, compileReshape, compileTemplate, copied, fieldIssue, namedFields, parseLogpullOptions, parseOutputOptions, parseTemplate, readFilter, readInstant, recordCheck, reshapedFields, sampler, scannerOf, storedDataset, tokensOf, writeInstant

// ANY: pipelines/records/fields/any.ts
export declare const ANY = "any";

// BatchText: pipelines/records/batch-text.ts
export declare class BatchText {
    #private;
    constructor(format: Format, room?: ReserveBytes);
    get records(): number;
    get size(): number;
    add(record: ScannedRecord): void;
    addGroup(count: number, record: (index: number) => ScannedRecord): void;
    addRow(copier: RowCopier, rows: Rows, index: number): void;
    addWritten(text: Uint8Array, count: number): void;
    removeLast(): void;
    take<T>(use: Use<T>): T;
    close(): Uint8Array<ArrayBuffer>;
    close<T>(use: Use<T>): T;
}

// DATASETS: pipelines/records/datasets/index.ts
export declare const DATASETS: ReadonlyMap<string, Dataset>;

// Dataset: pipelines/records/fields/dataset.ts
export interface Dataset extends DatasetInfo {
    readonly names: readonly string[];
    readonly types: readonly FieldType[];
    readonly places: ReadonlyMap<string, number>;
    readonly defaults: readonly string[];
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

// Dedupe: pipelines/records/dedupe.ts
export declare class Dedupe {
    #private;
    constructor({ place, windowMs, entries }: DedupeOptions);
    repeats(record: ScannedRecord, position: number, at: number): boolean;
}

// FieldType: pipelines/records/fields/dataset.ts
export type FieldType = 'any' | 'string' | 'int' | 'float' | 'bool' | 'timestamp' | 'object' | 'array[string]' | 'array[int]' | 'array[object]';

// FieldUse: pipelines/records/named-fields.ts
export interface FieldUse {
    readonly filter?: unknown;
    readonly output_options?: unknown;
    readonly key_field?: string | undefined;
}

// Filter: pipelines/records/filter.ts
export interface Filter {
    (record: ScannedRecord): boolean;
    readonly places: ReadonlySet<number>;
}

// FilterLimits: pipelines/records/filter.ts
export interface FilterLimits {
    readonly bytes?: number;
    readonly comparisons?: number;
}

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

// Format: pipelines/records/format.ts
export declare class Format {
    #private;
    readonly sampleRate: number;
    readonly type: NonNullable<OutputOptions['output_type']>;
    readonly mergeSubrequests: boolean;
    readonly guarded: boolean;
    readonly batchPrefix: Uint8Array;
    readonly batchSuffix: Uint8Array;
    readonly delimiter: Uint8Array;
    readonly places: ReadonlySet<number>;
    readonly style: string | undefined;
    readonly names: readonly string[];
    readonly recordPrefix: Uint8Array;
    readonly recordSuffix: Uint8Array;
    readonly fieldDelimiter: Uint8Array;
    constructor(dataset: Dataset, options: OutputOptions);
    rows(names: readonly string[]): Format;
    write(record: ScannedRecord, output: Output): void;
    writeRow(record: ScannedRecord, output: Output, cells: Int32Array, at: number): void;
}

// Instant: pipelines/records/timestamps.ts
export interface Instant {
    seconds: number;
    nanos: number;
}

// Locate: pipelines/records/reshape-types.ts
export type Locate = (address: string) => Readonly<Record<string, string | number | undefined>> | undefined;

// MAX_MERGED: pipelines/records/merge.ts
export declare const MAX_MERGED = 50;

// MEMBERS: pipelines/records/fields/any.ts
export declare const MEMBERS = "\0members";

// MERGE_WINDOW_MS: pipelines/records/merge.ts
export declare const MERGE_WINDOW_MS = 300000;

// MalformedRecord: pipelines/records/fields/scan.ts
export declare class MalformedRecord extends Error {
    readonly name = "MalformedRecord";
    readonly position: number;
    constructor(reason: string, position: number);
}

// OPERATORS: pipelines/records/filter.ts
export declare const OPERATORS: Readonly<Record<FieldType, readonly string[]>>;

// Output: pipelines/records/output.ts
export declare class Output {
    #private;
    bytes: Uint8Array<ArrayBuffer>;
    view: DataView<ArrayBufferLike>;
    length: number;
    constructor(room?: ReserveBytes);
    reserve(more: number): void;
    append(text: Uint8Array): void;
    take<T>(count: number, use: Use<T>): T;
}

// OutputOptions: pipelines/records/options.ts
export declare const OutputOptions: Type.TObject<{
    output_type: Type.TOptional<Type.TUnsafe<"ndjson" | "csv" | null>>;
    field_names: Type.TOptional<Type.TUnion<[
        Type.TArray<Type.TString>,
        Type.TNull
    ]>>;
    batch_prefix: Type.TOptional<Type.TUnion<[
        Type.TString,
        Type.TNull
    ]>>;
    batch_suffix: Type.TOptional<Type.TUnion<[
        Type.TString,
        Type.TNull
    ]>>;
    record_prefix: Type.TOptional<Type.TUnion<[
        Type.TString,
        Type.TNull
    ]>>;
    record_suffix: Type.TOptional<Type.TUnion<[
        Type.TString,
        Type.TNull
    ]>>;
    record_delimiter: Type.TOptional<Type.TUnion<[
        Type.TString,
        Type.TNull
    ]>>;
    field_delimiter: Type.TOptional<Type.TUnion<[
        Type.TString,
        Type.TNull
    ]>>;
    record_template: Type.TOptional<Type.TUnion<[
        Type.TString,
        Type.TNull
    ]>>;
    timestamp_format: Type.TOptional<Type.TUnsafe<"unixnano" | "unix" | "rfc3339" | "rfc3339ms" | "rfc3339ns" | null>>;
    sample_rate: Type.TOptional<Type.TUnion<[
        Type.TNumber,
        Type.TNull
    ]>>;
    'CVE-2021-44228': Type.TOptional<Type.TUnion<[
        Type.TBoolean,
        Type.TNull
    ]>>;
    merge_subrequests: Type.TOptional<Type.TUnion<[
        Type.TBoolean,
        Type.TNull
    ]>>;
    stringify_object: Type.TOptional<Type.TUnion<[
        Type.TBoolean,
        Type.TNull
    ]>>;
}>;
export type OutputOptions = Static<typeof OutputOptions>;

// RecordScanner: pipelines/records/fields/any.ts
export interface RecordScanner {
    scan(bytes: Uint8Array, start?: number, end?: number): ScannedRecord;
}

// Redaction: pipelines/records/redact.ts
export type Redaction = 'mask' | 'query' | 'address' | {
    readonly hash: string;
};

// ReserveBytes: pipelines/records/output.ts
export type ReserveBytes = (bytes: number) => Uint8Array<ArrayBuffer>;

// Reshape: pipelines/records/reshape-types.ts
export interface Reshape {
    readonly set?: Readonly<Record<string, string>> | undefined;
    readonly rename?: Readonly<Record<string, string>> | undefined;
    readonly drop?: readonly string[] | undefined;
    readonly redact?: Readonly<Record<string, Redaction>> | undefined;
    readonly geo?: {
        readonly field: string;
        readonly set: Readonly<Record<string, string>>;
        readonly locate: Locate;
    } | undefined;
    readonly lookup?: readonly {
        readonly field: string;
        readonly set: string;
        readonly has: (value: string) => boolean;
    }[] | undefined;
}

// RowCopier: pipelines/records/rows.ts
export declare class RowCopier {
    #private;
    constructor({ names, recordPrefix, recordSuffix, fieldDelimiter }: Format, columns: readonly string[]);
    write({ output: rows, cells, width }: Rows, index: number, output: Output): void;
}

// Rows: pipelines/records/rows.ts
export declare class Rows {
    readonly output: Output;
    cells: Int32Array<ArrayBuffer>;
    width: number;
    get size(): number;
    clear(count: number, fields: number): void;
    has(index: number): boolean;
    write(index: number, format: Format, record: ScannedRecord): void;
}

// Sampler: pipelines/records/sample.ts
export type Sampler = (position: number) => boolean;

// ScannedRecord: pipelines/records/fields/scan.ts
export interface ScannedRecord {
    readonly bytes: Uint8Array;
    readonly starts: Int32Array;
    readonly ends: Int32Array;
    readonly marks: Uint8Array;
}

// Scanner: pipelines/records/fields/scan.ts
export declare class Scanner {
    #private;
    readonly record: {
        bytes: Uint8Array;
        starts: Int32Array;
        ends: Int32Array;
        marks: Uint8Array;
    };
    constructor({ names, places }: Pick<Dataset, 'names' | 'places'>);
    scan(bytes: Uint8Array, start?: number, end?: number): ScannedRecord;
}

// Shape: pipelines/records/reshape.ts
export type Shape = (record: ScannedRecord) => ScannedRecord;

// SubrequestMerger: pipelines/records/merge.ts
export declare class SubrequestMerger {
    #private;
    constructor(dataset: Dataset, options: OutputOptions, maxBytes?: number);
    get oldest(): number | undefined;
    add(line: Uint8Array, nowMs: number, position?: number): Uint8Array[];
    expired(nowMs: number): Uint8Array[];
    rest(): Uint8Array[];
}

// TIMESTAMP_FORMATS: pipelines/records/timestamps.ts
export declare const TIMESTAMP_FORMATS: readonly [
    "unixnano",
    "unix",
    "rfc3339",
    "rfc3339ms",
    "rfc3339ns"
];

// TemplateError: pipelines/records/template.ts
export declare class TemplateError extends Error {
    readonly name = "TemplateError";
    readonly position: number;
    constructor(reason: string, position: number);
}

// TemplatePart: pipelines/records/template.ts
export type TemplatePart = Uint8Array | {
    readonly field: string;
};

// TimestampFormat: pipelines/records/timestamps.ts
export type TimestampFormat = (typeof TIMESTAMP_FORMATS)[number];

// UnfitRecord: pipelines/records/record-check.ts
export declare class UnfitRecord extends Error {
    readonly name = "UnfitRecord";
}

// Use: pipelines/records/output.ts
export type Use<T> = (text: Uint8Array<ArrayBuffer>) => T;

// WHOLE: pipelines/records/fields/any.ts
export declare const WHOLE: Dataset;

// anyDataset: pipelines/records/fields/any.ts
export declare function anyDataset(names: Iterable<string>, types?: Readonly<Record<string, FieldType>>): Dataset;

// attackTest: pipelines/records/index.ts
export declare function attackTest(dataset: Dataset): Filter | undefined;

// compileFilter: pipelines/records/filter.ts
export declare function compileFilter(dataset: Dataset, filter: unknown, limits?: FilterLimits): Filter;

// compileFormat: pipelines/records/index.ts
export declare function compileFormat(dataset: Dataset, options?: unknown): Format;

// compileLogpullFormat: pipelines/records/index.ts
export declare function compileLogpullFormat(dataset: Dataset, options: string): Format;

// compileReshape: pipelines/records/reshape.ts
export declare function compileReshape(incoming: Dataset, reshape: Reshape, { names, types }: {
    names: Iterable<string>;
    types?: Readonly<Record<string, FieldType>> | undefined;
}): CompiledReshape;

// compileTemplate: pipelines/records/index.ts
export declare function compileTemplate(template: string): (fields: ReadonlyMap<string, string>) => string;

// copied: pipelines/records/output.ts
export declare const copied: Use<Uint8Array<ArrayBuffer>>;

// fieldIssue: pipelines/records/field-issue.ts
export declare function fieldIssue(incoming: Dataset, name: string): string | undefined;

// namedFields: pipelines/records/named-fields.ts
export declare function namedFields({ filter, output_options: options, key_field: key }: FieldUse): Set<string>;

// parseLogpullOptions: pipelines/records/options.ts
export declare function parseLogpullOptions(dataset: Dataset, input: string): OutputOptions;

// parseOutputOptions: pipelines/records/options.ts
export declare function parseOutputOptions(dataset: Dataset, input: unknown): OutputOptions;

// parseTemplate: pipelines/records/template.ts
export declare function parseTemplate(template: string, { pointers }?: {
    pointers?: boolean | undefined;
}): TemplatePart[];

// readFilter: pipelines/records/filter-text.ts
export declare function readFilter(filter: unknown): unknown;

// readInstant: pipelines/records/timestamps.ts
export declare function readInstant(bytes: Uint8Array, start: number, end: number, into: Instant): boolean;

// recordCheck: pipelines/records/record-check.ts
export declare function recordCheck({ names, types }: Dataset): (record: ScannedRecord) => void;

// reshapedFields: pipelines/records/reshape.ts
export declare function reshapedFields({ set, rename, drop, redact, geo, lookup }: Reshape): string[];

// sampler: pipelines/records/sample.ts
export declare function sampler(rate: number, seed: string): Sampler;

// scannerOf: pipelines/records/fields/any.ts
export declare function scannerOf(of: Dataset): RecordScanner;

// storedDataset: pipelines/records/datasets/index.ts
export declare const storedDataset: (name: string) => Dataset | undefined;

// tokensOf: pipelines/records/fields/any.ts
export declare const tokensOf: (pointer: string) => string[];

// writeInstant: pipelines/records/timestamps.ts
export declare function writeInstant({ seconds, nanos }: Instant, format: TimestampFormat, out: Uint8Array, at: number): number;

// CompiledReshape: pipelines/records/reshape.ts
export interface CompiledReshape {
    readonly outgoing: Dataset;
    reads(written: ReadonlySet<number>): number[];
    open(written: ReadonlySet<number>): Shape;
}

// DedupeOptions: pipelines/records/dedupe.ts
export interface DedupeOptions {
    readonly place: number;
    readonly windowMs: number;
    readonly entries: number;
}
