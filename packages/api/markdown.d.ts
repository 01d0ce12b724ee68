// Exports: Content, ConvertOptions, Converter, MAX_HTML_BYTES, MarkdownTransform, NotConvertible, PageTooLarge, convert

// Content: pipelines/markdown/options.ts
export type Content = 'page' | 'main';

// ConvertOptions: pipelines/markdown/library.ts
export interface ConvertOptions extends PageOptions {
    keepHtml?: boolean | undefined;
}

// Converter: pipelines/markdown/library.ts
export declare class Converter {
    #private;
    constructor(options?: ConvertOptions);
    write(bytes: Uint8Array): string;
    end(): string;
    convert(html: string): string;
}

// MAX_HTML_BYTES: pipelines/markdown/options.ts
export declare const MAX_HTML_BYTES = 6291456;

// MarkdownTransform: pipelines/markdown/transform.ts
export declare class MarkdownTransform extends Transform {
    #private;
    constructor(options?: ConvertOptions);
    _transform(chunk: Buffer | string, encoding: BufferEncoding, done: TransformCallback): void;
    _flush(done: TransformCallback): void;
}

// NotConvertible: pipelines/markdown/text/not-convertible.ts
export declare class NotConvertible extends Error {
    readonly name = "NotConvertible";
}

// PageTooLarge: pipelines/markdown/options.ts
export declare class PageTooLarge extends Error {
    readonly name = "PageTooLarge";
    constructor();
}

// convert: pipelines/markdown/library.ts
export declare function convert(html: string | Uint8Array, options?: ConvertOptions): string;

// PageOptions: pipelines/markdown/options.ts
export interface PageOptions {
    contentType?: string | undefined;
    content?: Content | undefined;
    links?: boolean | 'numbered' | undefined;
    base?: string | undefined;
    notice?: string | undefined;
    footnotes?: boolean | undefined;
    callouts?: boolean | undefined;
    math?: boolean | undefined;
}
