import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The resources that this process has used so far.
enum Usage {
  /// The processor time of all threads.
  static var processor: Duration {
    var usage = rusage()
    #if canImport(Glibc)
      _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
      _ = unsafe getrusage(RUSAGE_SELF, &usage)
    #endif
    return [usage.ru_utime, usage.ru_stime].reduce(.zero) { sum, part in
      sum + .seconds(Int64(part.tv_sec)) + .microseconds(Int64(part.tv_usec))
    }
  }

  /// Raises the descriptor limit to the system's maximum.
  ///
  /// The lower soft limit exists for programs that use `select`.
  static func raiseDescriptorLimit() {
    var limit = rlimit()
    #if canImport(Glibc)
      let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let descriptors = RLIMIT_NOFILE
    #endif
    guard unsafe getrlimit(descriptors, &limit) == 0 else { return }
    // Only root may exceed the hard limit; other users get the hard limit.
    var wide = rlimit(rlim_cur: 1_000_000, rlim_max: max(limit.rlim_max, 1_000_000))
    if unsafe setrlimit(descriptors, &wide) == 0 { return }
    limit.rlim_cur = limit.rlim_max
    unsafe setrlimit(descriptors, &limit)
  }

  /// Returns the peak memory of this process, in MB.
  static func peak() throws -> Double {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
      let kilobytes = Double(line.split { !$0.isNumber }.first ?? "")
    else { throw Unavailable("this system does not report VmHWM") }
    return kilobytes / 1024
  }

  /// Returns the private memory of this process, in bytes (proc(5), `Anonymous` of smaps_rollup).
  static func memory() throws -> Double {
    let text = try String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8)
    for line in text.split(separator: "\n") where line.hasPrefix("Anonymous:") {
      let number = line.split(separator: " ").dropFirst().first.flatMap { Double($0) }
      if let number { return number * 1024 }
    }
    throw Unavailable("this system does not report memory usage")
  }
}
