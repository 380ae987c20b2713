// The Chromium that tests, checks and pictures run in, and how it is started: as root, without a
// graphics card, and quiet on the network.

export const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

export const args = [
  '--no-sandbox', // Chromium refuses to run as root with its sandbox, and CI is root
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
