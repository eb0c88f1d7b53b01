import Foundation
import HoldfastTestKit

/// The process that opens many sockets to a server; see `Benchmarks/Load`.
actor LoadGenerator {
  private let process: LabProcess
  private var answers: AsyncStream<String>.Iterator

  init(port: UInt16, _ options: [String] = []) throws {
    process = try Peer([Peer.loadGenerator]).start(["\(port)"] + options)
    answers = process.lines.makeAsyncIterator()
  }

  /// The client that uses libcurl alone; see `Benchmarks/Load/curl.c`.
  static var libcurl: Peer { Peer([Peer.loadGenerator, "curl"]) }

  /// Sends a command and returns the numbers of its response.
  func ask(_ command: String) async throws -> [Double] {
    process.send(command)
    var iterator = answers
    let answer = await iterator.next(isolation: #isolation)
    answers = iterator
    guard let answer, !answer.hasPrefix("failed") else {
      throw Unavailable("\(command): \(answer ?? "the load generator ended")")
    }
    return answer.split(separator: " ").dropFirst().compactMap { Double($0) }
  }

  /// Sends a command whose response must have `count` numbers, and returns them.
  func ask(_ command: String, for count: Int) async throws -> [Double] {
    let numbers = try await ask(command)
    guard numbers.count == count else { throw Unavailable("\(command): \(numbers)") }
    return numbers
  }

  func end() async {
    process.signal(SIGKILL)
    _ = await process.exit()
  }
}

/// The resource usage of another process and its children, as reported by Linux in /proc.
struct ProcessUsage: Sendable {
  let process: Int32

  /// The private memory, in bytes (proc(5), `Anonymous` of smaps_rollup).
  var memory: Double {
    sum { process in
      let text = try? String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8)
      let line = text?.split(separator: "\n").first { $0.hasPrefix("Anonymous:") }
      return (line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) * 1024
    }
  }

  /// The highest hard limit of descriptors among the process and its children.
  ///
  /// In the case of nginx, a worker process holds the sockets.
  var descriptors: Int {
    get throws { try all.map(Self.descriptors).max() ?? 0 }
  }

  /// Returns the hard limit of a process (proc(5), `limits`).
  private static func descriptors(_ process: Int32) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("Max open files") }
    guard let bound = line?.split(separator: " ").dropFirst(4).first.flatMap({ Int($0) }) else {
      throw Unavailable("/proc names no bound of descriptors")
    }
    return bound
  }

  /// The processor time of all running threads, in seconds.
  var processor: Double {
    sum { process in
      let folder = "/proc/\(process)/task"
      let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return threads.compactMap { thread in
        let path = "\(folder)/\(thread)/schedstat"
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text?.split(separator: " ").first.flatMap { Double($0) }
      }.reduce(0, +) / 1e9
    }
  }

  private func sum(_ figure: (Int32) -> Double) -> Double { all.map(figure).reduce(0, +) }

  private var all: [Int32] {
    let path = "/proc/\(process)/task/\(process)/children"
    let children = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return [process] + children.split(separator: " ").compactMap { Int32($0) }
  }
}
