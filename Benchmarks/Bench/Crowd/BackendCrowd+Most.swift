import Foundation

/// A benchmark of the maximum number of sockets that a backend holds on this machine.
extension BackendCrowd {
  static func mostSockets(from start: Int, to bound: Int) -> Benchmark {
    let contenders = BackendServer.Kind.allCases.map { kind in
      Contender(name: kind.title, measuring: { try await most(kind, from: start, to: bound) })
    }
    return Benchmark(
      name: "backend-most",
      question: "idle sockets held at once, each pinged every 10 s, until something ends it",
      unit: "sockets", subject: contenders[0], peers: Array(contenders.dropFirst()),
      rounds: (1, 3))
  }

  /// Doubles the number of sockets until an error or a limit occurs, and measures at each size.
  private static func most(
    _ kind: BackendServer.Kind, from start: Int, to bound: Int
  ) async throws -> Measurement {
    var most = Measurement(0)
    try await with(kind, pinging: 10) { server, load in
      // Some descriptors are needed for files and by the server itself.
      let allowed = try server.usage.descriptors - 100
      var (held, next) = (0, min(start, bound, allowed))
      do {
        while held < next {
          try await open(next - held, load)
          most = try await crowded(next, server, load)
          (held, next) = (next, min(next * 2, bound, allowed))
        }
        most.remark = "ended by \(held == bound ? "its own bound" : "descriptors"); "
      } catch {
        guard held > 0 else { throw error }
        most.remark = "ended between \(held) and \(next) by: \(error); "
      }
      most.remark? += "a process may have \(allowed + 100) descriptors"
    }
    return most
  }

  /// Opens sockets, and answers pings in the meantime.
  private static func open(_ count: Int, _ load: LoadGenerator) async throws {
    for start in stride(from: 0, to: count, by: 1000) {
      guard try freeMemory() > 1e9 else { throw Unavailable("less than 1 GB of memory is left") }
      _ = try await load.ask("open \(min(1000, count - start))")
      _ = try await load.ask("idle 0.01")
    }
  }

  /// Measures the idle cost of the sockets over one ping interval.
  private static func crowded(
    _ count: Int, _ server: BackendServer, _ load: LoadGenerator
  ) async throws -> Measurement {
    let before = server.usage.processor
    let pings = try await load.ask("idle 10", for: 1)
    let usage = server.usage
    return Measurement(
      Double(count),
      beside: [
        ("megabytes of memory", usage.memory / 1e6),
        ("% of a core", (usage.processor - before) / 10 * 100),
        ("pings answered a second", pings[0] / 10),
      ])
  }

  /// Returns the available memory, as estimated by Linux (proc(5), `MemAvailable`).
  private static func freeMemory() throws -> Double {
    let text = try String(contentsOfFile: "/proc/meminfo", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }
    let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
    guard let kilobytes else { throw Unavailable("/proc/meminfo names no memory") }
    return kilobytes * 1024
  }
}
