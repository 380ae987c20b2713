/** Packages that whoever wants them installs: loaded when they are asked for, and not before. */

/** The module of the first package that is installed; the error says what to install. */
export async function loadOptional(
  what: string,
  packages: readonly string[],
): Promise<{ name: string; module: Record<string, unknown> }> {
  for (const name of packages) {
    try {
      // By a variable, so that no bundler looks for what may not be there.
      return { name, module: await import(/* @vite-ignore */ /* webpackIgnore: true */ name) };
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  throw new Error(`${what} needs a package that is not installed: npm install ${packages[0]}`);
}

/** Engines and bundlers say it each in their own way. */
function isMissing(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return /MODULE_NOT_FOUND$/.test(code) || /resolve|cannot find|failed to/i.test(message);
}
