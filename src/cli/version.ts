/** The version of the package, put in by the build. */

declare const HALFSPACE_VERSION: string;

export const version: string = HALFSPACE_VERSION;
