export interface Request {
  mode: string;
  pid: number;
  /** Of another machine: its name. */
  host: string;
  threadId: number;
  clientId: string;
  label: string;
  callSite: string;
  command: string;
  processState: string;
  token: string | null;
  limit: number | null;
  priority: string;
  overtakes: number;
  held: number | null;
  waited: number;
}

export interface LockView {
  name: string;
  held: number;
  waiting: number;
  rate: number;
  oldestWait: number;
  oldestHold: number;
  isDeadlocked: boolean;
  holders: Request[];
}

export interface GraphLock {
  name: string;
  isDeadlocked: boolean;
  holders: Request[];
  waiters: Request[];
  moreHolders: number;
  moreWaiters: number;
}

export interface Histogram {
  bounds: number[];
  counts: number[];
  sum: number;
  count: number;
}

export interface Incident {
  type: string;
  name: string;
  pid: number;
  /** Of another machine: its name. */
  host: string;
  threadId: number;
  time: number;
}

export interface Counts {
  grants: number;
  releases: number;
  aborts: number;
  timeouts: number;
  steals: number;
  expiries: number;
  deaths: number;
}

export interface Usage {
  usedCells: number;
  maxCells: number;
  processes: number;
  maxProcesses: number;
  agents: number;
  maxAgents: number;
}

export interface Picture {
  address: string;
  time: number;
  interval: number;
  number: number;
  totals: { held: number; pending: number; agents: number; names: number; oldestWait: number };
  counts: Counts;
  rates: Counts;
  missed: number;
  isSampled: boolean;
  usage?: Usage;
  waits: Histogram;
  holds: Histogram;
  locks: LockView[];
  graph: { left: number; locks: GraphLock[] };
  deadlocks: {
    size: number;
    behind: number;
    members: (Request & { name: string; holders: Request[]; moreHolders: number })[];
  }[];
  moreDeadlocks: number;
  incidents: Incident[];
}

export interface Moment {
  time: number;
  grants: number;
  waiting: number;
  held: number;
  deaths: number;
  deadlocks: number;
  locks: Map<string, { held: number; waiting: number; rate: number; isDeadlocked: boolean }>;
}

export interface Feed {
  state: 'connecting' | 'live' | 'lost' | 'failed';
  picture: Picture | undefined;
  moments: Moment[];
  incidents: Incident[];
  message: string;
}
