import Glibc
import HoldfastCore
import HoldfastOwnerFiles
import HoldfastServerParts

/// The files and system calls that tell the state of this process, on Linux.
struct ProcessReading: Sendable {
  /// The directories on whose file systems the backend stores something, by name.
  private var disks: [(name: String, path: String)]
  /// The paths of the databases.
  private var databases: [String]
  /// The queue for readings, since a disk may hang.
  let queue = FileQueue(label: "holdfast.process")

  /// Creates a reading of the files that a backend uses.
  init(_ configuration: BackendConfiguration) {
    disks = [("data", configuration.dataDirectory)]
    if let database = configuration.database { disks.append((database.name, database.directory)) }
    databases =
      configuration.databaseURL == nil
      ? backendServices.flatMap { $0.databases(configuration) } : []
  }

  /// Creates a reading of the process alone.
  init() { (disks, databases) = ([], []) }

  /// Reads the figures. Those that cannot be read are missing.
  ///
  /// This method may block while a disk hangs.
  func figures() -> ProcessFigures {
    var figures = ProcessFigures()
    if let stat = Self.text(of: "/proc/self/stat").flatMap(ProcessStat.init) {
      let ticks = max(UInt64(clamping: sysconf(Int32(_SC_CLK_TCK))), 1)
      figures.processorTime = Self.duration(stat.processorTicks, ticks)
      figures.residentBytes = stat.residentPages &* UInt64(clamping: sysconf(Int32(_SC_PAGESIZE)))
      figures.start = Self.boot.map { $0 + Self.duration(stat.startTicks, ticks) }
    }
    figures.maxDescriptors = Self.descriptorLimits.map { UInt64($0.rlim_cur) }
    figures.openDescriptors = Self.openDescriptors
    figures.databases = databases.compactMap(Self.database)
    figures.disks = disks.compactMap { Self.disk($0.name, at: $0.path) }
    return figures
  }

  /// The limits on open descriptors; `nil` if they are unknown.
  fileprivate static var descriptorLimits: rlimit? {
    var limits = rlimit()
    return unsafe getrlimit(descriptors, &limits) == 0 ? limits : nil
  }

  fileprivate static let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

  /// The number of open descriptors.
  ///
  /// From Linux 6.2 on it is the size of the directory. Before, its entries are counted.
  private static var openDescriptors: UInt64? {
    let path = "/proc/self/fd"
    var found = stat()
    if unsafe stat(path, &found) == 0, found.st_size > 0 { return UInt64(found.st_size) }
    guard let directory = unsafe opendir(path) else { return nil }
    defer { unsafe _ = closedir(directory) }
    var count: UInt64 = 0
    while let entry = unsafe readdir(directory) {
      let first = unsafe UInt8(truncatingIfNeeded: entry.pointee.d_name.0)
      if first != UInt8(ascii: ".") { count += 1 }
    }
    // The directory itself is open now.
    return count > 0 ? count - 1 : nil
  }

  /// The time between 1970-01-01 and the start of the system.
  private static var boot: Duration? {
    guard let text = text(of: "/proc/stat") else { return nil }
    for line in text.split(separator: "\n") where line.hasPrefix("btime ") {
      return Int64(line.dropFirst("btime ".count)).map { .seconds($0) }
    }
    return nil
  }

  private static func duration(_ ticks: UInt64, _ perSecond: UInt64) -> Duration {
    let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: perSecond)
    return .seconds(Int64(clamping: seconds))
      + .nanoseconds(Int64(clamping: rest * (1_000_000_000 / perSecond)))
  }

  private static func database(at path: String) -> ProcessFigures.DatabaseFile? {
    guard let bytes = size(of: path) else { return nil }
    let file = path.split(separator: "/").last ?? ""
    let name = file.hasSuffix(".sqlite") ? file.dropLast(".sqlite".count) : file
    return ProcessFigures.DatabaseFile(
      name: MetricsPage.label(String(name)), bytes: bytes, logBytes: size(of: path + "-wal") ?? 0)
  }

  private static func disk(_ name: String, at path: String) -> ProcessFigures.Disk? {
    var found = statvfs()
    guard unsafe statvfs(path, &found) == 0 else { return nil }
    return ProcessFigures.Disk(
      name: MetricsPage.label(name), freeBytes: UInt64(found.f_bavail) &* UInt64(found.f_frsize),
      bytes: UInt64(found.f_blocks) &* UInt64(found.f_frsize))
  }

  private static func size(of path: String) -> UInt64? {
    var found = stat()
    guard unsafe stat(path, &found) == 0 else { return nil }
    return UInt64(clamping: found.st_size)
  }

  private static func text(of path: String) -> String? {
    let file = OwnerFile(path, maxBytes: 1 << 20, isSecret: false)
    return (try? file.read()).flatMap(\.self).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension BackendConfiguration {
  /// Raises the limit on open descriptors to the hard limit. Returns the limit; `nil` if it is
  /// unknown. The default soft limit of 1,024 is needed only for `select`.
  public static func raiseDescriptorLimit() -> UInt64? {
    guard var limits = ProcessReading.descriptorLimits else { return nil }
    limits.rlim_cur = limits.rlim_max
    unsafe setrlimit(ProcessReading.descriptors, &limits)
    return ProcessReading.descriptorLimits.map { UInt64($0.rlim_cur) }
  }
}
