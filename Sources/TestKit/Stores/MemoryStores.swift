import LinkHealth
public import LinkRuntime
public import LinkWire

/// A timeline store in memory, which fails when a test tells it to.
public typealias MemoryTimelineStore = MemoryStore<KeptTimelines>

/// A message log in memory, which fails when a test tells it to.
public typealias MemoryMessageLog = MemoryStore<KeptLogs>

/// A health store in memory, which fails when a test tells it to.
public typealias MemoryHealthStore = MemoryStore<KeptHealth>

/// A relay store in memory, which fails when a test tells it to.
public typealias MemoryRelayStore = MemoryStore<RelayKept>
