/** The version in each file that states one; `none` where it is missing. */
export function versions(): Record<string, string>;
/** The section of the CHANGELOG about a version, without its title. */
export function changesOf(version: string): string;
