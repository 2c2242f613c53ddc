// Types of requests and answers, from the OpenAPI documents: make lint generates .tools/types from api/*.yaml. A URL is found by its text:
// `${identity}/emails/${address}` is /emails/{address} of the identity API.

import type { components as IdentityParts, paths as IdentityPaths } from "../../.tools/types/identity-v3";
import type { components as TransferParts, paths as TransferPaths } from "../../.tools/types/transfer-v2";
import type { components as AdminParts, paths as AdminPaths } from "../../.tools/types/admin-v1";

declare global {
  /** The bodies of the three APIs by the names of the documents, as IdentityAPI["Email"]. */
  type IdentityAPI = IdentityParts["schemas"];
  type TransferAPI = TransferParts["schemas"];
  type AdminAPI = AdminParts["schemas"];
  type OrganizationPath = `/id/v3/organizations/${string}`;
}

/** A segment of a path: {} for a parameter, and for a value that is not known before the page runs. */
type Segment<S extends string> = S extends `{${string}}` ? "{}" : {} extends Record<S, 1> ? "{}" : S;
type Segments<S extends string> = S extends `${infer Head}/${infer Rest}` ? `${Segment<Head>}/${Segments<Rest>}` : Segment<S>;
type Below<Base extends string, Paths> = { [P in keyof Paths & string as P extends `/${infer Rest}` ? `${Base}/${Segments<Rest>}` : never]: Paths[P] };
type Routes = Below<"/id/v3", IdentityPaths> & Below<"/transfer/v2", TransferPaths> & Below<"/admin/v1", AdminPaths>;
type WithoutQuery<U extends string> = U extends `${infer Path}?${string}` ? Path : U;
type Found<U extends string> = WithoutQuery<U> extends `/${infer Rest}` ? `/${Segments<Rest>}` : never;
/** The operation of a method and a URL, or never. */
type Operation<M extends string, U extends string> = Found<U> extends infer K extends keyof Routes ? Lowercase<M> extends infer N extends keyof Routes[K] ? Routes[K][N] : never : never;

type JSONOf<Response> = Response extends { content: { "application/json": infer Body } } ? Body : never;
type Successes<Responses> = { [S in keyof Responses & (200 | 201 | 202)]: JSONOf<Responses[S]> }[keyof Responses & (200 | 201 | 202)];
type Answered<Op> = Op extends { responses: infer Responses } ? Successes<Responses> : never;

/** The body of the answer to a request; unknown when the URL is not known before the page runs. */
export type Body<M extends string, U extends string> = string extends U ? unknown : Answered<Operation<M, U>>;

/** The members of an answer that are lists, and what is in one. */
export type ListName<U extends string> = string & { [K in keyof Body<"GET", U>]: NonNullable<Body<"GET", U>[K]> extends unknown[] ? K : never }[keyof Body<"GET", U>];
export type Item<U extends string, K> = K extends keyof Body<"GET", U> ? NonNullable<Body<"GET", U>[K]> extends (infer I)[] ? I : never : never;

export interface Options {
  token?: string;
  json?: unknown;
  body?: BodyInit;
  type?: string;
  signal?: AbortSignal;
  accept?: string;
  headers?: Record<string, string>;
}

export interface Answer<B> {
  status: number;
  body: B;
  headers: Headers;
  response: Response;
}

/** What follows method and URL. A path that no document has wants an argument that nobody can give. */
export type Rest<M extends string, U extends string, More extends unknown[] = []> = string extends U ? [options?: Options, ...more: Partial<More>]
  : [Operation<M, U>] extends [never] ? [thePathIsInNoDocument: never] : [options?: Options, ...more: Partial<More>];

/** Sends a request. */
export type Call = <M extends string, U extends string>(method: M, url: U, ...rest: Rest<M, U>) => Promise<Answer<Body<M, U>>>;

/** Sends a request of the operators' API, below /admin/v1. */
export type Ask = <M extends string, P extends string>(method: M, path: P, ...rest: Rest<M, Admin<P>>) => Promise<Answer<Body<M, Admin<P>>>>;
type Admin<P extends string> = string extends P ? string : `/admin/v1${P}`;
