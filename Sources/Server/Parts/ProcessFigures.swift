import HoldfastCore

/// The state of the process and its files, for metrics.
public struct ProcessFigures: Sendable, Hashable {
  /// The size of the resident memory, in bytes.
  public var residentBytes: UInt64?
  /// The number of open descriptors.
  public var openDescriptors: UInt64?
  /// The limit on open descriptors.
  public var maxDescriptors: UInt64?
  /// The processor time that the process has used.
  public var processorTime: Duration?
  /// The time between 1970-01-01 and the start of the process.
  public var start: Duration?
  /// The databases.
  public var databases: [DatabaseFile] = []
  /// The file systems on which the backend stores something.
  public var disks: [Disk] = []

  /// The size of a database.
  public struct DatabaseFile: Sendable, Hashable {
    /// The name of the file without its extension.
    public var name: String
    /// The size of the file, in bytes.
    public var bytes: UInt64
    /// The size of the write-ahead log beside it, in bytes; 0 if there is none.
    public var logBytes: UInt64

    /// Creates the size of a database.
    public init(name: String, bytes: UInt64, logBytes: UInt64) {
      (self.name, self.bytes, self.logBytes) = (name, bytes, logBytes)
    }
  }

  /// The space of a file system.
  public struct Disk: Sendable, Hashable {
    /// The name of the content that the backend stores there: `data` for the data directory.
    public var name: String
    /// The number of bytes that this process may still use.
    public var freeBytes: UInt64
    /// The size of the file system, in bytes.
    public var bytes: UInt64

    /// Creates the space of a file system.
    public init(name: String, freeBytes: UInt64, bytes: UInt64) {
      (self.name, self.freeBytes, self.bytes) = (name, freeBytes, bytes)
    }
  }

  /// Creates figures of which none is known.
  public init() {}

  /// Adds the figures that are known to the backend's page.
  public func report(to page: inout MetricsPage) {
    let standard: [(String, MetricsPage.Kind, String, String?)] = [
      (
        "process_resident_memory_bytes", .gauge, "Resident memory size in bytes.",
        residentBytes.map { "\($0)" }
      ),
      ("process_open_fds", .gauge, "Open descriptors.", openDescriptors.map { "\($0)" }),
      ("process_max_fds", .gauge, "Limit on open descriptors.", maxDescriptors.map { "\($0)" }),
      (
        "process_cpu_seconds_total", .counter, "User and system CPU time spent in seconds.",
        processorTime.map { MetricsPage.seconds($0) }
      ),
      (
        "process_start_time_seconds", .gauge, "Start time of the process since 1970 in seconds.",
        start.map { MetricsPage.seconds($0) }
      ),
    ]
    for case (let name, let kind, let help, let value?) in standard {
      page.standard(name, kind, help, value)
    }
    page.many(
      "database_bytes", .gauge, "Size of a database file and of its write-ahead log.",
      databases.flatMap {
        [
          (#"database="\#($0.name)",file="main""#, $0.bytes),
          (#"database="\#($0.name)",file="wal""#, $0.logBytes),
        ]
      })
    page.many(
      "disk_free_bytes", .gauge, "Free space of the file system.",
      disks.map { (#"disk="\#($0.name)""#, $0.freeBytes) })
    page.many(
      "disk_size_bytes", .gauge, "Size of the file system.",
      disks.map { (#"disk="\#($0.name)""#, $0.bytes) })
  }
}

/// The figures in `/proc/self/stat` of Linux (proc(5)).
public struct ProcessStat: Sendable, Hashable {
  /// The processor time of the process in user and kernel mode, in clock ticks.
  public var processorTicks: UInt64
  /// The start of the process after the start of the system, in clock ticks.
  public var startTicks: UInt64
  /// The resident memory, in pages.
  public var residentPages: UInt64

  /// Reads the content of the file. Returns `nil` if it has another form.
  ///
  /// The name of the program, in parentheses, may contain spaces and parentheses.
  public init?(_ text: String) {
    guard let name = text.lastIndex(of: ")") else { return nil }
    // The first of these fields is number 3 of proc(5).
    let fields = text[text.index(after: name)...].split(separator: " ")
    func field(_ number: Int) -> UInt64? {
      fields.indices.contains(number - 3) ? UInt64(fields[number - 3]) : nil
    }
    guard let user = field(14), let system = field(15), let start = field(22),
      let pages = field(24)
    else { return nil }
    let (ticks, overflows) = user.addingReportingOverflow(system)
    guard !overflows else { return nil }
    (processorTicks, startTicks, residentPages) = (ticks, start, pages)
  }
}
