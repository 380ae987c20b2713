import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    testTimeout: 60_000,
    maxWorkers: '100%', // of the processors; by default one stays idle
    expect: { requireAssertions: true },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      // The command runs in child processes, which are not counted.
      exclude: [
        ...['src/**/*.assembly.ts', 'src/kernels/module.generated.ts', 'src/**/*.d.ts'],
        'src/cli/**',
      ],
      reporter: ['text-summary', 'html'],
      thresholds: { lines: 90, functions: 90, branches: 85 },
    },
    // The tests of the command run what is built, so only they wait for a build.
    projects: [
      {
        extends: true,
        test: { name: 'library', include: ['test/**/*.test.ts'], exclude: ['test/cli/**'] },
      },
      {
        extends: true,
        test: {
          ...{ name: 'command', include: ['test/cli/**/*.test.ts'] },
          globalSetup: 'test/cli/global-setup.ts',
        },
      },
    ],
  },
});
